import { optionKinds, type OptionKinds } from '@looseleaf/core'
import type { CleanProgress } from '../clean/progress.ts'
import { rate, type Problem } from '../pass/pass-options.ts'

/** All times are in milliseconds. */
export interface CleanerOptions {
  /** Between two rounds over what was written lately. Default: 1,000. */
  readonly intervalMs?: number | undefined
  /** The same when nothing has been written for some rounds: the pause doubles up to this. Default: 5,000. */
  readonly idleIntervalMs?: number | undefined
  /** Entities read per round and shard, at the most; what is left waits for the next round. Default: 5,000. */
  readonly rowsPerRound?: number | undefined
  /** How far back the first round on a store looks. Default: an hour. */
  readonly lookBackMs?: number | undefined
  /** What is older than this without having been looked at is left to the sweep. Default: a day. */
  readonly maxLagMs?: number | undefined
  /** How long a dangling row with a later stamp than its entity is taken for a writer's in flight. Default: 60,000. */
  readonly graceMs?: number | undefined
  /** Between two looks at the catalog for new indexes and due sweeps. Default: 3,000. */
  readonly catalogMs?: number | undefined
  /** Between the end of a sweep of an index and the next one. Default: a day. */
  readonly sweepEveryMs?: number | undefined
  /** Entities and rows read per second by sweeps and by the filling of indexes, at the most. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** How long work stays with a process that shows no sign of life, up to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** Between two looks at a row that seems missing in the check of a new index. Default: 500. */
  readonly settleMs?: number | undefined
  /** Between two looks at work that another process has. Default: 500. */
  readonly pollMs?: number | undefined
  /** Keep the process running while there is nothing else to do. Default: false. */
  readonly keepAlive?: boolean | undefined
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
  readonly onProblem?: ((problem: Problem) => void) | undefined
  /** Told of the errors of rounds; they are tried again by themselves. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** What each of them has to be. */
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
