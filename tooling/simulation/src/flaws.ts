import type { EntityId } from '@looseleaf/core'
import { noFaults, type FaultKind } from './faults.ts'
import type { Circumstances } from './world.ts'

export interface FlawInfo {
  /** The kinds of faults that may happen; others would only be in the way. Default: all. */
  readonly among?: readonly FaultKind[]
  /** The kind of fault that shows it, where all others together do not. */
  readonly shownBy?: FaultKind
  /** The seed to begin with, where it shows so seldom that to look for it takes long: shortly before one that shows it. */
  readonly from?: number
  /** What a life has to be like for it to show at all. */
  readonly life?: Partial<Circumstances>
}

const entities = (count: number): readonly EntityId[] =>
  Array.from({ length: count }, (_, n) => `0b0f323c-2209-7c02-ac20-${String(n).padStart(12, '0')}`)

/** Clients move a few entities from shard to shard, and look for them. */
const moving = {
  writeOrder: 'index-first',
  deleteDelayMs: 0,
  maxSkewMs: 0,
  clients: 'moves',
  ids: entities(4),
} as const

/** Disks hang and servers crash, while entities move. */
const unsafe = ['diskHangs', 'serverCrash'] as const
const unsafeLife = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  clients: 'moves',
  ids: ['0b0f323c-2209-7c02-ac20-03022d0d2d01', '1c0f323c-2209-7c02-ac20-03022d0d2d02'],
} as const

/** Two entities fight over keys. */
const fight = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  maxSkewMs: 0,
  clients: 'keys',
  names: 2,
  ids: Array.from({ length: 4 }, (_, n) => `${n}b0f323c-2209-7c02-ac20-03022d0d2d01`),
} as const

/** Few entities, which are written now and then, and replicas that fall behind. */
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

/** Something that a driver, a process or a database could get wrong. A run with it has to tell. */
export const flaws = {
  /** Shows only where an upsert and a delete of one row both come late, so there is much of that, and one entity. */
  'upsert overwrites': {
    life: {
      writeOrder: 'index-first',
      deleteDelayMs: 0,
      faults: { ...noFaults, late: 0.2, duplicate: 0.3 },
      ids: ['0b0f323c-2209-7c02-ac20-03022d0d2d01'],
    },
  },
  'remove is unguarded': {},
  'replace is unguarded': {},
  /** A write begins before an index is added, and goes on when that has been filled. */
  'epoch is ignored': {
    among: ['pause'],
    life: {
      writeOrder: 'index-first',
      onIndexFailure: 'fail',
      deleteDelayMs: 0,
      maxSkewMs: 0,
      clients: 'everything',
      faults: { ...noFaults, pause: 0.02 },
    },
  },
  /** A cleaner deletes what it takes for the leavings of the dead without making sure that they cannot commit. */
  'fences do nothing': {
    shownBy: 'pause',
    among: ['pause', 'crash', 'errorBefore', 'shardDown'],
    // A clock that is ahead makes a cleaner take young rows for old ones, which shows it too; so do keys that are taken over,
    // and writers that have many entities to get round to.
    life: {
      writeOrder: 'index-first',
      deleteDelayMs: 0,
      maxSkewMs: 0,
      clients: 'everything',
      ids: unsafeLife.ids,
    },
  },
  /** Rows that a write made superfluous go at once, although a failover may undo the write. */
  'no delete delay': { shownBy: 'failover', life: { writeOrder: 'index-first', failoverOf: 'entities' } },
  /** After a failover that has lost rows, a clean leaves writes that are under way alone, whose rows may be lost. */
  'clean goes on where it was': {
    // A write has to be held up from before the failover until after the clean, and not to be overtaken meanwhile.
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
  /** What is noted as pending is not in the transaction of its entity, and does not fall back with it. */
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
  /** An insert that comes a second time is done again, whatever was written since. */
  'inserts may be repeated': {
    shownBy: 'duplicate',
    among: ['duplicate', 'late', 'errorAfter', 'crash', 'pause'],
  },
  /** A write whose answer was lost is acknowledged when it is read back, although a crash may undo it. */
  'read back without a flush': { shownBy: 'serverCrash', among: ['diskHangs', 'serverCrash', 'crash'] },
  /** A cleaner deletes what a commit has lost that it has read, although a crash may undo that. */
  'cleaner without a flush': {
    shownBy: 'serverCrash',
    from: 555,
    life: {
      ...unsafeLife,
      // Rows of what was deleted go at once. Few crashes, so that cleaners come by while a disk hangs.
      clients: 'everything',
      queryTimeMs: 5,
      maxSkewMs: 0,
      faults: { ...noFaults, crash: 0.003, diskHangs: 0.05, serverCrash: 0.003 },
    },
  },
  /** An upsert that changes nothing is answered before the stamp that it has met is on disk. */
  'upsert that changes nothing without a flush': {
    shownBy: 'serverCrash',
    from: 600,
    among: unsafe,
    life: { ...unsafeLife, maxSkewMs: 1000, ids: [...unsafeLife.ids].slice(0, 1) },
  },
  /** Deferred rows are made good by a version that a crash may undo. */
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
  /** Changes are handed over up to a floor that somebody else has raised, although a crash may undo it, and what is below. */
  'changes without a flush': {
    shownBy: 'serverCrash',
    life: {
      ...unsafeLife,
      clients: 'everything',
      maxSkewMs: 0,
      faults: { ...noFaults, diskHangs: 0.05, serverCrash: 0.01 },
    },
  },
  /** Writers delete the rows that an entity has lost while queries are under way that need them. */
  'writers delete at once': {
    among: [],
    life: { ...moving, queryTimeMs: 1500 },
  },
  /** Cleaners do. */
  'cleaner deletes at once': {
    among: ['pause'],
    // With a delay, writers leave these rows to cleaners. Queries freeze between two shards, and are not too long for it.
    life: { ...moving, deleteDelayMs: 1, queryTimeMs: 200_000, faults: { ...noFaults, pause: 0.02 } },
  },
  /** A query that took longer than rows are kept says that it is complete. */
  'queries are not bounded': {
    among: [],
    life: { ...moving, queryTimeMs: 1 },
  },
  /** Whoever takes a key over does not see that its holder has taken it again. */
  'swap ignores the stamp': {
    life: { ...fight, faults: { ...noFaults, errorBefore: 0.1, late: 0.1, pause: 0.02 } },
  },
  /** Shows where a take comes late, and after it what released the claim then. */
  'take overwrites the stamp': {
    life: {
      ...fight,
      names: 1,
      faults: { ...noFaults, late: 0.2, duplicate: 0.3 },
      ids: fight.ids.slice(0, 1),
    },
  },
  'take overwrites the holder': { life: fight },
  /** The claim that an entity has lost goes, although it has taken it again. */
  'claims are released whatever their stamp': { life: fight },
  /** An attempt of the holder that is under way may commit after its key was taken over. */
  'keys are taken over without a fence': {
    shownBy: 'pause',
    among: ['pause', 'errorBefore', 'shardDown'],
    life: { ...fight, faults: { ...noFaults, pause: 0.03, errorBefore: 0.03 } },
  },
  /** A crash undoes what the holder was seen to have become. */
  'keys are taken over without a flush': {
    shownBy: 'serverCrash',
    life: { ...fight, names: 3, faults: { ...noFaults, diskHangs: 0.05, serverCrash: 0.01 } },
  },
  /** A take is answered before the stamp that it has met is on disk. */
  'take that changes nothing without a flush': {
    shownBy: 'serverCrash',
    from: 535,
    life: {
      ...fight,
      // Else the rows of the index, which are on the same shards, are waited for.
      writeOrder: 'entity-first',
      names: 3,
      maxSkewMs: 1000,
      ids: unsafeLife.ids.slice(0, 1),
      faults: { ...noFaults, diskHangs: 0.3, serverCrash: 0.08 },
    },
  },
  /** Replicas are read whatever their age. */
  'replicas have no bound': { life: replicated },
  'tokens are ignored': { life: replicated },
  /** A page of replicas that are older than the rows of what has moved says that it is complete. */
  'pages of replicas are not bounded': {
    among: ['replicaStops'],
    life: { ...moving, replicasEach: 2, queryTimeMs: 20, faults: { ...noFaults, replicaStops: 0.004 } },
  },
  'replicas tell the floor of their primary': { life: replicated },
  /** Nobody notices that a replica was restarted without what it had, or that another server has its place. */
  'connections to replicas are not counted': {
    shownBy: 'replicaDies',
    among: ['replicaDies'],
    life: { ...replicated, faults: { ...noFaults, replicaDies: 0.02 } },
  },
  /** What was written stays in the cache as it was before. */
  'evictions are left out': { life: cached },
  /** What was read before a write is kept after it. */
  'what was evicted is kept all the same': {
    life: { ...cached, faults: { ...noFaults, pause: 0.02, cacheFails: 0.1 } },
  },
  'cached without a bound': {
    shownBy: 'cacheFails',
    from: 570,
    among: ['cacheFails'],
    life: { ...cached, cacheMs: 300, faults: { ...noFaults, cacheFails: 0.1 } },
  },
} as const satisfies Record<string, FlawInfo>

export type Flaw = keyof typeof flaws

export const flawInfo = (flaw: Flaw): FlawInfo => flaws[flaw]
export const flawNames: readonly Flaw[] = Object.keys(flaws) as Flaw[]
