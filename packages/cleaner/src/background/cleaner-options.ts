import { optionKinds, type OptionKinds } from '@looseleaf/core/internal'
import type { CleanProgress } from '../clean/progress.ts'
import { rate, type Problem } from '../pass/pass-options.ts'

/** All times are in milliseconds. */
export interface CleanerOptions {
  /** Time between two rounds over recent writes; on an idle shard up to 5,000. Default: 1,000. */
  readonly intervalMs?: number | undefined
  /** Largest number of entities read per round and shard; further ones wait for the next round. Default: 5,000. */
  readonly rowsPerRound?: number | undefined
  /** Time for which a dangling row with a later stamp than its entity counts as the row of a writer in flight. Default: 60,000. */
  readonly graceMs?: number | undefined
  /** Time between the end of a sweep of an index and the next one. Default: a day. */
  readonly sweepEveryMs?: number | undefined
  /** Largest number of entities and rows that sweeps and fillings read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Time until other processes take over the work of a dead one, up to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** True keeps the process alive while only the cleaner runs. Default: false. */
  readonly keepAlive?: boolean | undefined
  /** Called with the progress of sweeps and fillings after each page. */
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
  /** Called with misfits, duplicates and damaged bodies, possibly several times for one entity. */
  readonly onProblem?: ((problem: Problem) => void) | undefined
  /** Called with errors of rounds, which are retried. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export const cleanerOptionKinds: OptionKinds<CleanerOptions> = {
  intervalMs: optionKinds.milliseconds,
  rowsPerRound: optionKinds.count,
  graceMs: optionKinds.milliseconds,
  sweepEveryMs: optionKinds.milliseconds,
  rowsPerSecond: rate,
  leaseMs: optionKinds.lease,
  keepAlive: optionKinds.flag,
  onProgress: optionKinds.function,
  onProblem: optionKinds.function,
  onError: optionKinds.function,
}
