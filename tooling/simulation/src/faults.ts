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
] as const

export type FaultKind = (typeof faultKinds)[number]

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
}

/** How likely a life has a kind of fault: rather when there are few kinds to choose from. */
const likelihood = (kinds: number): number => (kinds === faultKinds.length ? 0.4 : 0.75)

/** Every seed has some kinds of faults and not others, so that each gets to meet the code alone and in company. */
export function chooseFaults(random: Random, allowed: readonly FaultKind[]): Faults {
  const chosen = faultKinds.map((kind): [FaultKind, number] => {
    const rate = random.chance(likelihood(allowed.length)) ? random.pick(rates[kind]) : 0
    return [kind, allowed.includes(kind) ? rate : 0]
  })
  const faults = Object.fromEntries(chosen) as Faults
  // A server that has a replica has a binary log, and shows a commit when that is on disk.
  return faults.failover > 0 ? { ...faults, diskHangs: 0, serverCrash: 0 } : faults
}

export const noFaults: Faults = {
  errorBefore: 0,
  errorAfter: 0,
  late: 0,
  duplicate: 0,
  crash: 0,
  pause: 0,
  shardDown: 0,
  failover: 0,
  diskHangs: 0,
  serverCrash: 0,
}

/** As many of the kinds that are allowed, and none of the others. */
export function onlyFaults(faults: Faults, allowed: readonly FaultKind[]): Faults {
  return { ...noFaults, ...Object.fromEntries(allowed.map((kind) => [kind, faults[kind]])) }
}
