import type { Random } from '@looseleaf-tooling/kit/random'

/** All kinds of faults. */
export const faultKinds = [
  /** A statement is refused without effect. */
  'errorBefore',
  /** A statement takes place, but its answer never arrives. */
  'errorAfter',
  /** The caller gets an error at once; the statement takes place later, or never. */
  'late',
  /** A write takes place a second time, later. */
  'duplicate',
  /** A process crashes at any step, and a new one starts. */
  'crash',
  /**
   * A process freezes between two steps while other processes and the clock continue. It wakes with stale
   * state.
   */
  'pause',
  /** A shard refuses all statements for a while. */
  'shardDown',
  /** A shard fails over to a replica that lacks its last commits. */
  'failover',
  /**
   * The disk of a shard hangs for a while: commits are visible at once, answered later, and undone by a
   * crash.
   */
  'diskHangs',
  /** The server of a shard crashes and restarts with the state of its disk. */
  'serverCrash',
  /** A replica replays nothing for a while. */
  'replicaStops',
  /** A replica dies. It returns unchanged, without its last changes, or as a new server. */
  'replicaDies',
  /** A replica that has everything is promoted; a new server takes its place. */
  'replicaPromoted',
  /** A call to a shared cache fails; it may still take effect at once, later, or never. */
  'cacheFails',
  /** A shared cache does not answer for a while. */
  'cacheStands',
  /** A shared cache loses its contents. */
  'cacheEvicts',
] as const

export type FaultKind = (typeof faultKinds)[number]

/** Optional parts of a life, beside processes and shards. */
export const partNames = ['replicas', 'cache', 'moves', 'near'] as const
export type Part = (typeof partNames)[number]

/** Faults that need an optional part. */
const partOf: Partial<Record<FaultKind, Part>> = {
  replicaStops: 'replicas',
  replicaDies: 'replicas',
  replicaPromoted: 'replicas',
  cacheFails: 'cache',
  cacheStands: 'cache',
  cacheEvicts: 'cache',
}

/** Probability of each fault: per statement, or per step for faults of the world. */
export type Faults = Readonly<Record<FaultKind, number>>

const rates: Readonly<Record<FaultKind, readonly number[]>> = {
  errorBefore: [0.01, 0.03, 0.1],
  errorAfter: [0.01, 0.03, 0.1],
  late: [0.01, 0.03, 0.1],
  duplicate: [0.01, 0.03, 0.1],
  crash: [0.002, 0.005, 0.01],
  pause: [0.005, 0.01, 0.02],
  shardDown: [0.005],
  failover: [0.003, 0.01],
  diskHangs: [0.01, 0.03],
  serverCrash: [0.005, 0.02],
  replicaStops: [0.001, 0.004],
  replicaDies: [0.0005, 0.002],
  replicaPromoted: [0.0005],
  cacheFails: [0.03, 0.1],
  cacheStands: [0.005],
  cacheEvicts: [0.01, 0.05],
}

/** Probability that a life has a kind of fault; higher if there are few kinds. */
const likelihood = (kinds: number): number => (kinds === faultKinds.length ? 0.4 : 0.75)

/** The factor by which faults are rarer in lives with moves. */
const RARER = 4

/** Chooses some kinds of faults by the seed, so that each kind occurs alone and in combinations. */
export function chooseFaults(
  random: Random,
  allowed: readonly FaultKind[],
  parts: ReadonlySet<Part>,
): Faults {
  // Draws no random numbers for missing parts, so that lives without them stay the same.
  const kinds = faultKinds.filter((kind) => partOf[kind] === undefined || parts.has(partOf[kind]))
  const chosen = kinds.map((kind): [FaultKind, number] => {
    const rate = random.chance(likelihood(allowed.length)) ? random.pick(rates[kind]) : 0
    return [kind, allowed.includes(kind) ? rate : 0]
  })
  const faults = { ...noFaults, ...Object.fromEntries(chosen) }
  // A server with a replica has a binary log and shows only commits that are on disk.
  const possible =
    faults.failover > 0 || parts.has('replicas') ? { ...faults, diskHangs: 0, serverCrash: 0 } : faults
  return parts.has('moves') ? duringMoves(possible) : possible
}

/** A life with moves is long, so its faults are rarer. Moves need servers whose failovers lose no commits. */
function duringMoves(faults: Faults): Faults {
  const rarer = faultKinds.map((kind) => [kind, faults[kind] / RARER] as const)
  return { ...noFaults, ...Object.fromEntries(rarer), failover: 0 }
}

export const noFaults = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Faults

/** Keeps the probabilities of the allowed kinds and sets the others to 0. */
export function onlyFaults(faults: Faults, allowed: readonly FaultKind[]): Faults {
  return { ...noFaults, ...Object.fromEntries(allowed.map((kind) => [kind, faults[kind]])) }
}
