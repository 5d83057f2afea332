import type { CallOptions, LooseleafError } from '@looseleaf/core'
import { millisecondsOfLease, optionKinds, type OptionKind, type OptionKinds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { LEAST_LEASE_MS } from './move-lease.ts'
import type { MoveReport } from './move-report.ts'
import type { MoveProgress } from './progress.ts'

/** The store whose buckets move, such as a `DataStore`. */
export interface MoverStore {
  readonly context: EngineContext
}

export interface MoveOptions extends CallOptions {
  /** Largest number of entities and index rows read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Milliseconds until other processes take over the move of a dead one, from 3,000 to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** Called with the progress after each page, and when a step begins. */
  readonly onProgress?: ((progress: MoveProgress) => void) | undefined
  /** Called with the move when the call begins to wait for another process that works on it. */
  readonly onWait?: ((move: MoveReport) => void) | undefined
  /**
   * Called after a failure of a shard, with its error and the milliseconds until the call tries again. The call rejects with the sixth
   * failure in a row, after some 15 seconds.
   */
  readonly onRetry?: ((error: LooseleafError, pauseMs: number) => void) | undefined
}

const rate: OptionKind = {
  expected: 'a number above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

export const moveOptionKinds: OptionKinds<MoveOptions> = {
  signal: optionKinds.signal,
  rowsPerSecond: rate,
  leaseMs: millisecondsOfLease(LEAST_LEASE_MS),
  onProgress: optionKinds.function,
  onWait: optionKinds.function,
  onRetry: optionKinds.function,
}
