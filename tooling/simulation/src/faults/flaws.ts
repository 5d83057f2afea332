import type { EntityId } from '@looseleaf/core'
import { noFaults } from './faults.ts'
import type { FlawInfo } from './flaw-info.ts'
import { flawsOfMoves } from './flaws-of-moves.ts'

const entities = (count: number): readonly EntityId[] =>
  Array.from({ length: count }, (_, n) => `0b0f323c-2209-7c02-ac20-${String(n).padStart(12, '0')}`)

/** Clients move a few entities between shards and search for them. */
const moving = {
  writeOrder: 'index-first',
  deleteDelayMs: 0,
  maxSkewMs: 0,
  clients: 'rows',
  ids: entities(4),
} as const

/** Entities of one bucket whose index rows are on their shard, mostly. */
const nearby = { ...moving, isNear: true } as const

/** Disks hang and servers crash while entities move. */
const unsafe = ['diskHangs', 'serverCrash'] as const
const unsafeLife = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  clients: 'rows',
  ids: ['0b0f323c-2209-7c02-ac20-03022d0d2d01', '1c0f323c-2209-7c02-ac20-03022d0d2d02'],
} as const

/** Two entities compete for keys. */
const fight = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  maxSkewMs: 0,
  clients: 'keys',
  names: 2,
  ids: Array.from({ length: 4 }, (_, n) => `${n}b0f323c-2209-7c02-ac20-03022d0d2d01`),
} as const

/** Few entities, rarely written, and replicas that lag. */
const replicated = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  replicasEach: 2,
  clients: 'everything',
  ids: entities(2),
} as const

/** A few entities in a cache that processes share. */
const cached = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  cacheMs: 1000,
  clients: 'everything',
  ids: entities(2),
} as const

/** Mistakes of a driver, a process or a database. The simulation must detect each of them. */
export const flaws = {
  /** Needs a late upsert and a late delete of the same row: many such faults, and one entity. */
  'upsert overwrites': {
    from: 21,
    life: {
      writeOrder: 'index-first',
      deleteDelayMs: 0,
      faults: { ...noFaults, late: 0.2, duplicate: 0.3 },
      ids: ['0b0f323c-2209-7c02-ac20-03022d0d2d01'],
    },
  },
  'remove is unguarded': {},
  'replace is unguarded': {},
  /** A write begins before an index is added and commits after the index was filled. */
  'epoch is ignored': {
    among: ['pause'],
    from: 75,
    life: {
      writeOrder: 'index-first',
      onIndexFailure: 'fail',
      deleteDelayMs: 0,
      maxSkewMs: 0,
      clients: 'everything',
      faults: { ...noFaults, pause: 0.02 },
    },
  },
  /**
   * A cleaner deletes rows that seem left over by a crashed process, without ensuring that its attempt cannot
   * commit.
   */
  'fences do nothing': {
    shownBy: 'pause',
    among: ['pause', 'crash', 'errorBefore', 'shardDown'],
    from: 140,
    // Excludes other causes of the same failure: a clock that is ahead makes a cleaner take young rows for
    // old ones; takeovers of keys and long lists of entities delay writers.
    life: {
      writeOrder: 'index-first',
      deleteDelayMs: 0,
      maxSkewMs: 0,
      clients: 'everything',
      ids: unsafeLife.ids,
    },
  },
  /** Rows that a write made superfluous are deleted at once, although a failover may undo the write. */
  'no delete delay': { shownBy: 'failover', life: { writeOrder: 'index-first', failoverOf: 'entities' } },
  /** After a failover that lost rows, a clean does not restart writes in flight, whose rows may be lost. */
  'clean goes on where it was': {
    // A write must stay in flight from before the failover until after the clean, and no other write may
    // replace it.
    life: {
      writeOrder: 'index-first',
      onIndexFailure: 'fail',
      failoverOf: 'everything',
      deleteDelayMs: 600,
      maxSkewMs: 0,
      faults: { ...noFaults, pause: 0.04, failover: 0.01 },
      ids: entities(64),
    },
  },
  /** A pending row is not written in its entity's transaction, so it does not fall back with it. */
  'pending rows stay behind': {
    shownBy: 'failover',
    among: ['errorBefore', 'shardDown', 'failover'],
    life: {
      writeOrder: 'index-first',
      onIndexFailure: 'defer',
      failoverOf: 'entities',
      deleteDelayMs: 600,
      maxSkewMs: 0,
    },
  },
  /** A repeated insert takes place again, over later writes. */
  'inserts may be repeated': {
    shownBy: 'duplicate',
    among: ['duplicate', 'late', 'errorAfter', 'crash', 'pause'],
  },
  /** A write without an answer is acknowledged once it is read back, although a crash may undo it. */
  'read back without a flush': { shownBy: 'serverCrash', among: ['diskHangs', 'serverCrash', 'crash'] },
  /** A cleaner deletes rows that a commit made lost, although a crash may undo that commit. */
  'cleaner without a flush': {
    shownBy: 'serverCrash',
    from: 555,
    life: {
      ...unsafeLife,
      // Rows of deleted entities go at once. Crashes are rare, so that cleaners run while a disk hangs.
      clients: 'everything',
      queryTimeMs: 5,
      maxSkewMs: 0,
      faults: { ...noFaults, crash: 0.003, diskHangs: 0.05, serverCrash: 0.003 },
    },
  },
  /** An upsert that changes nothing is answered before the stamp that it found is on disk. */
  'upsert that changes nothing without a flush': {
    shownBy: 'serverCrash',
    from: 600,
    among: unsafe,
    life: { ...unsafeLife, maxSkewMs: 1000, ids: [...unsafeLife.ids].slice(0, 1) },
  },
  /** Pending rows are resolved by a version that a crash may undo. */
  'drain without a flush': {
    shownBy: 'serverCrash',
    from: 7840,
    life: {
      ...unsafeLife,
      onIndexFailure: 'defer',
      clients: 'everything',
      maxSkewMs: 0,
      faults: { ...noFaults, errorBefore: 0.1, diskHangs: 0.05, serverCrash: 0.008, shardDown: 0.01 },
    },
  },
  /**
   * Changes are delivered up to a floor that another process raised, although a crash may undo the floor and
   * the commits below it.
   */
  'changes without a flush': {
    shownBy: 'serverCrash',
    life: {
      ...unsafeLife,
      clients: 'everything',
      maxSkewMs: 0,
      faults: { ...noFaults, diskHangs: 0.05, serverCrash: 0.01 },
    },
  },
  /** Writers delete lost rows that queries under way still need. */
  'writers delete at once': {
    among: [],
    life: { ...moving, queryTimeMs: 1500 },
  },
  /** Cleaners delete lost rows that queries under way still need. */
  'cleaner deletes at once': {
    among: ['pause'],
    // With a delay, writers leave these rows to cleaners. Queries freeze between two shards, without
    // exceeding their time.
    life: { ...moving, deleteDelayMs: 1, queryTimeMs: 200_000, faults: { ...noFaults, pause: 0.02 } },
  },
  /** A query that took longer than rows are kept reports itself complete. */
  'queries are not bounded': {
    among: [],
    life: { ...moving, queryTimeMs: 1 },
  },
  /** Local rows are written after their entity, in another transaction. */
  'local rows follow their entity': { life: nearby },
  /** Local rows that a write would lose are deleted although another write may come first. */
  'local rows are deleted before their entity is written': { life: nearby },
  /** A write that loses its compare-and-swap deletes the rows that it would have lost. */
  'losers delete local rows': { life: nearby },
  /** A batch writes its other items if an item has another version than was read. */
  'batches leave out items that are lost': { life: nearby },
  /** A takeover of a key does not notice that the holder has taken the key again. */
  'swap ignores the stamp': {
    life: { ...fight, faults: { ...noFaults, errorBefore: 0.1, late: 0.1, pause: 0.02 } },
  },
  /** Needs a late take, and after it the delayed release of the earlier claim. */
  'take overwrites the stamp': {
    life: {
      ...fight,
      names: 1,
      faults: { ...noFaults, late: 0.2, duplicate: 0.3 },
      ids: fight.ids.slice(0, 1),
    },
  },
  'take overwrites the holder': { life: fight },
  /** A claim is released although its entity has taken it again. */
  'claims are released whatever their stamp': { life: fight },
  /** An attempt of the holder that is in flight may commit after its key was taken over. */
  'keys are taken over without a fence': {
    shownBy: 'pause',
    among: ['pause', 'errorBefore', 'shardDown'],
    life: { ...fight, faults: { ...noFaults, pause: 0.03, errorBefore: 0.03 } },
  },
  /** A crash undoes the holder's change on which the takeover relied. */
  'keys are taken over without a flush': {
    shownBy: 'serverCrash',
    life: { ...fight, names: 3, faults: { ...noFaults, diskHangs: 0.05, serverCrash: 0.01 } },
  },
  /** A take is answered before the stamp that it found is on disk. */
  'take that changes nothing without a flush': {
    shownBy: 'serverCrash',
    from: 535,
    life: {
      ...fight,
      // Otherwise writers wait for index rows, which are on the same shards.
      writeOrder: 'entity-first',
      names: 3,
      maxSkewMs: 1000,
      ids: unsafeLife.ids.slice(0, 1),
      faults: { ...noFaults, diskHangs: 0.3, serverCrash: 0.08 },
    },
  },
  /** Replicas are read regardless of their age. */
  'replicas have no bound': { life: replicated },
  'tokens are ignored': { life: replicated },
  /**
   * A page reports itself complete although its replicas lag beyond the time that rows of moved entities are
   * kept.
   */
  'pages of replicas are not bounded': {
    among: ['replicaStops'],
    life: { ...moving, replicasEach: 2, queryTimeMs: 20, faults: { ...noFaults, replicaStops: 0.004 } },
  },
  'replicas tell the floor of their primary': { life: replicated },
  /** A process does not notice that a replica restarted without its last changes, or was replaced. */
  'connections to replicas are not counted': {
    shownBy: 'replicaDies',
    among: ['replicaDies'],
    life: { ...replicated, faults: { ...noFaults, replicaDies: 0.02 } },
  },
  /** A write does not evict the entity from the cache. */
  'evictions are left out': { life: cached },
  /** A value that was read before a write is cached after it. */
  'what was evicted is kept all the same': {
    life: { ...cached, faults: { ...noFaults, pause: 0.02, cacheFails: 0.1 } },
  },
  'cached without a bound': {
    shownBy: 'cacheFails',
    from: 570,
    among: ['cacheFails'],
    life: { ...cached, cacheMs: 300, faults: { ...noFaults, cacheFails: 0.1 } },
  },
  ...flawsOfMoves,
} as const satisfies Record<string, FlawInfo>

export type Flaw = keyof typeof flaws

export const flawInfo = (flaw: Flaw): FlawInfo => flaws[flaw]
export const flawNames: readonly Flaw[] = Object.keys(flaws) as Flaw[]
