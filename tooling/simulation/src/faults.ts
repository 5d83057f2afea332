import type { Random } from '@looseleaf-tooling/random'

/** Everything that goes wrong on purpose. */
export const faultKinds = [
  /** A statement is refused and nothing happens. */
  'errorBefore',
  /** A statement takes place and its answer is lost. */
  'errorAfter',
  /** The answer is lost at once, and the statement takes place later, or never. */
  'late',
  /** A write of any kind takes place a second time, later. */
  'duplicate',
  /** A process stops dead, in the middle of whatever it does, and starts anew. */
  'crash',
  /** A process freezes between two steps, the others and the clock go on, and it wakes believing what it believed. */
  'pause',
  /** A shard is down for a while. */
  'shardDown',
  /** A shard fails over to a replica that has not got its last commits. */
  'failover',
  /** The disk of a shard hangs for a while: commits are visible, may be lost in a crash, and are answered later. */
  'diskHangs',
  /** The server of a shard crashes, and comes back with what was on disk. */
  'serverCrash',
  /** A replica replays nothing for a while. */
  'replicaStops',
  /** A replica dies, and comes back as it was, without what it had last, or made anew. */
  'replicaDies',
  /** A replica that has everything takes the place of its primary; another server follows in its place. */
  'replicaPromoted',
  /** What a shared cache is asked fails, and is done or not, or later. */
  'cacheFails',
  /** A shared cache answers nothing for a while. */
  'cacheStands',
  /** A shared cache loses what it has. */
  'cacheEvicts',
] as const

export type FaultKind = (typeof faultKinds)[number]

/** What a life may have beside its processes and shards. */
export const partNames = ['replicas', 'cache'] as const
export type Part = (typeof partNames)[number]

/** What befalls these alone. */
const partOf: Partial<Record<FaultKind, Part>> = {
  replicaStops: 'replicas',
  replicaDies: 'replicas',
  replicaPromoted: 'replicas',
  cacheFails: 'cache',
  cacheStands: 'cache',
  cacheEvicts: 'cache',
}

/** How often each happens: of all statements, or of all steps where it is the world as a whole that has it. */
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

/** How likely a life has a kind of fault: rather when there are few kinds to choose from. */
const likelihood = (kinds: number): number => (kinds === faultKinds.length ? 0.4 : 0.75)

/** Every seed has some kinds of faults and not others, so that each gets to meet the code alone and in company. */
export function chooseFaults(
  random: Random,
  allowed: readonly FaultKind[],
  parts: ReadonlySet<Part>,
): Faults {
  // Nothing is drawn for what a life has not got, so that other lives are the same without it.
  const kinds = faultKinds.filter((kind) => partOf[kind] === undefined || parts.has(partOf[kind]))
  const chosen = kinds.map((kind): [FaultKind, number] => {
    const rate = random.chance(likelihood(allowed.length)) ? random.pick(rates[kind]) : 0
    return [kind, allowed.includes(kind) ? rate : 0]
  })
  const faults = { ...noFaults, ...Object.fromEntries(chosen) }
  // A server that has a replica has a binary log, and shows a commit when that is on disk.
  return faults.failover > 0 || parts.has('replicas') ? { ...faults, diskHangs: 0, serverCrash: 0 } : faults
}

export const noFaults = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Faults

/** As many of the kinds that are allowed, and none of the others. */
export function onlyFaults(faults: Faults, allowed: readonly FaultKind[]): Faults {
  return { ...noFaults, ...Object.fromEntries(allowed.map((kind) => [kind, faults[kind]])) }
}
