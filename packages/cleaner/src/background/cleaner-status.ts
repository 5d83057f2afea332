import type { CleanProgress } from '../clean/progress.ts'
import type { Tally } from '../pass/tally.ts'
import type { RoundError } from '../report/summary.ts'

export interface CleanerStatus {
  /** False after the cleaner was stopped or its store was closed. */
  readonly isRunning: boolean
  /** One item per shard, in the order of the shards. */
  readonly shards: readonly {
    /** True while this process follows the writes of the shard; false before the shard has answered. */
    readonly isMine: boolean
    /** End of the last round that succeeded; undefined before the first. */
    readonly lastRoundAt: Date | undefined
    /** Age in milliseconds of the oldest update that the last round had no time for; 0 if it read all. */
    readonly lagMs: number
  }[]
  /** Counts of all work since this cleaner was started. `added` counts no rows of fillings. */
  readonly totals: Tally
  /** Tombstones that this cleaner has purged since it was started. */
  readonly purged: number
  /** Entities that this cleaner has deleted because they had expired. */
  readonly expired: number
  /** Names of the indexes that this process is filling. */
  readonly filling: readonly string[]
  /** Names of the indexes that this process is sweeping. */
  readonly sweeping: readonly string[]
  /** Latest progress of fillings and sweeps, one item per shard. */
  readonly progress: readonly CleanProgress[]
  readonly lastError: RoundError | undefined
}
