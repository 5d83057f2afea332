import type { Random } from './random.ts'

/** How often, of all statements, a fault happens; and how often the world as a whole has one, per statement. */
export interface Faults {
  /** The statement is refused and nothing happens. */
  readonly errorBefore: number
  /** The statement takes place and the answer is lost. */
  readonly errorAfter: number
  /** The answer is lost at once, and the statement takes place later, or never. */
  readonly late: number
  /** An index statement takes place a second time, later. */
  readonly duplicate: number
  /** A process stops dead, in the middle of whatever it does, and starts anew. */
  readonly crash: number
  /** A shard is down for a while. */
  readonly shardDown: number
}

const kinds = ['errorBefore', 'errorAfter', 'late', 'duplicate', 'crash', 'shardDown'] as const

/** Every seed has some kinds of faults and not others, so that each gets to meet the code alone and in company. */
export function chooseFaults(random: Random): Faults {
  const faults = { errorBefore: 0, errorAfter: 0, late: 0, duplicate: 0, crash: 0, shardDown: 0 }
  for (const kind of kinds) if (random.chance(0.4)) faults[kind] = random.pick([0.01, 0.03, 0.1])
  if (faults.crash > 0) faults.crash = random.pick([0.002, 0.005, 0.01])
  if (faults.shardDown > 0) faults.shardDown = 0.005
  return faults
}

export const noFaults: Faults = {
  errorBefore: 0,
  errorAfter: 0,
  late: 0,
  duplicate: 0,
  crash: 0,
  shardDown: 0,
}
