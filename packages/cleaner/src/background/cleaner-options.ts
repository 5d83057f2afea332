import { optionKinds, type OptionKinds } from '@looseleaf/core/internal'
import type { CleanProgress } from '../clean/progress.ts'
import { rate, type Problem } from '../pass/pass-options.ts'

/** All times are in milliseconds. */
export interface CleanerOptions {
  /** Time between two rounds over recent writes. Default: 1,000. */
  readonly intervalMs?: number | undefined
  /** Longest time between two rounds on an idle shard; the pause doubles up to this. Default: 5,000. */
  readonly idleIntervalMs?: number | undefined
  /** Largest number of entities read per round and shard; further ones wait for the next round. Default: 5,000. */
  readonly rowsPerRound?: number | undefined
  /** Age of the oldest writes that the first round of a store reads. Default: an hour. */
  readonly lookBackMs?: number | undefined
  /** Age beyond which unread writes are left to the sweep. Default: a day. */
  readonly maxLagMs?: number | undefined
  /** Time for which a dangling row with a later stamp than its entity counts as the row of a writer in flight. Default: 60,000. */
  readonly graceMs?: number | undefined
  /** Time between two reads of the catalog, which find new indexes and due sweeps. Default: 3,000. */
  readonly catalogMs?: number | undefined
  /** Time between the end of a sweep of an index and the next one. Default: a day. */
  readonly sweepEveryMs?: number | undefined
  /** Largest number of entities and rows that sweeps and fillings read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Time until other processes take over the work of a dead one, up to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** Time between two looks at a row that seems to be missing, in the check of a new index. Default: 500. */
  readonly settleMs?: number | undefined
  /** Time between two looks at work that another process has. Default: 500. */
  readonly pollMs?: number | undefined
  /** True keeps the process alive while only the cleaner runs. Default: false. */
  readonly keepAlive?: boolean | undefined
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
  readonly onProblem?: ((problem: Problem) => void) | undefined
  /** Called with errors of rounds, which are retried. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export const cleanerOptionKinds: OptionKinds<CleanerOptions> = {
  intervalMs: optionKinds.milliseconds,
  idleIntervalMs: optionKinds.milliseconds,
  rowsPerRound: optionKinds.count,
  lookBackMs: optionKinds.milliseconds,
  maxLagMs: optionKinds.milliseconds,
  graceMs: optionKinds.milliseconds,
  catalogMs: optionKinds.milliseconds,
  sweepEveryMs: optionKinds.milliseconds,
  rowsPerSecond: rate,
  leaseMs: optionKinds.lease,
  settleMs: optionKinds.milliseconds,
  pollMs: optionKinds.milliseconds,
  keepAlive: optionKinds.flag,
  onProgress: optionKinds.function,
  onProblem: optionKinds.function,
  onError: optionKinds.function,
}
