import { guarded } from './callbacks.ts'
import type { Time } from './time.ts'

export interface BackgroundLoopOptions {
  readonly time: Time
  /** Ends the loop. */
  readonly signal: AbortSignal
  /** Does one round and resolves with the pause before the next one, in milliseconds. */
  readonly round: () => Promise<number>
  /** Called with the error of each failed round. Its own errors are ignored. */
  readonly onError: (error: unknown) => void
  /** Longest pause after a failure, in milliseconds. Default and maximum: 10,000. */
  readonly lastRetryMs?: number | undefined
}

const FIRST_RETRY_MS = 500
/** Also the longest delay of deferred work after its shard is back. */
const LAST_RETRY_MS = 10_000

/**
 * Repeats a round until the signal fires, then resolves. After a failed round, pauses grow from 500 ms up to `lastRetryMs`.
 * Never rejects.
 */
export async function backgroundLoop({
  time,
  signal,
  round,
  onError,
  lastRetryMs = LAST_RETRY_MS,
}: BackgroundLoopOptions): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    let pause: number
    try {
      pause = await round()
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      guarded(
        () => onError(error),
        () => {},
      )
      pause = Math.min(retryAfter(failures), lastRetryMs)
      failures++
    }
    try {
      await time.sleep(pause, signal)
    } catch {
      // The signal has fired, so the loop ends.
    }
  }
}

/** Returns the milliseconds before a retry that follows `failures` earlier failures in a row. */
export function retryAfter(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures)
}
