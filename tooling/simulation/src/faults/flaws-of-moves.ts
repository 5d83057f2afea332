import { noFaults } from './faults.ts'
import type { FlawInfo } from './flaw-info.ts'

/** Buckets of a few entities move to and fro. */
const rehomed = {
  writeOrder: 'index-first',
  onIndexFailure: 'fail',
  deleteDelayMs: 0,
  maxSkewMs: 0,
  clients: 'everything',
  movers: 1,
  moves: 4,
  mayJoin: false,
  hasConsumer: false,
  mayRemove: false,
  hasAdministrators: false,
  ids: Array.from({ length: 6 }, (_, n) => `${n}b0f323c-2209-7c02-ac20-03022d0d2d${n}1`),
} as const

/** Mistakes of movers, of programs that meet them, and of the databases that they use. */
export const flawsOfMoves = {
  /** A copy does not replace an earlier copy of its entity, or a leftover of an earlier move. */
  'copies keep the row that is there': { life: rehomed },
  /** A copy that arrives late replaces what the target has accepted since. */
  'copies ignore the epoch': {
    from: 5,
    life: { ...rehomed, faults: { ...noFaults, duplicate: 0.2 } },
  },
  /** A copy that arrives once more replaces that of a later pass. */
  'all copies have one time': {
    life: { ...rehomed, faults: { ...noFaults, duplicate: 0.7 } },
  },
  /** A target loses a copy, and a later one is written all the same. */
  'copies do not need the one before': { from: 20, life: rehomed },
  /** Copies of other bodies are taken for those of their entities. */
  'checksums are always equal': { life: rehomed },
  /** The copy under the seal ends at the floor, so it has no write since. */
  'last copies have an end': { life: rehomed },
  /** A change of a shard's own buckets replaces a change that came first. */
  'catalogs change whatever they are': {
    from: 45,
    life: { ...rehomed, faults: { ...noFaults, pause: 0.02 } },
  },
  'pending rows are not copied': {
    life: {
      ...rehomed,
      onIndexFailure: 'defer',
      faults: { ...noFaults, errorBefore: 0.05, shardDown: 0.002 },
    },
  },
  'index rows are not copied': { life: rehomed },
  'claims are not copied': { life: { ...rehomed, clients: 'keys', names: 4 } },
  /** A bucket leaves while processes rely on a look from before the announcement. */
  'movers do not wait for readers': { from: 60, life: { ...rehomed, faults: noFaults } },
  /** A program lets a target begin by a change of its source that a crash may undo. */
  'targets begin before their source is on disk': {
    from: 5,
    shownBy: 'serverCrash',
    life: { ...rehomed, faults: { ...noFaults, diskHangs: 0.003, serverCrash: 0.001 } },
  },
  /** A mover passes over entities whose replacement a crash may undo. */
  'movers do not flush': {
    shownBy: 'serverCrash',
    life: { ...rehomed, faults: { ...noFaults, diskHangs: 0.003, serverCrash: 0.001 } },
  },
  /** A delete of what a shard gave up arrives after its buckets have come back. */
  'discards ignore the epoch': {
    life: { ...rehomed, faults: { ...noFaults, late: 0.01, duplicate: 0.2 } },
  },
} as const satisfies Record<string, FlawInfo>
