import type { Time } from './time.ts'

export interface BackgroundLoopOptions {
  readonly time: Time
  readonly signal: AbortSignal
  /** One round; answers how long to wait for the next one, in milliseconds. */
  readonly round: () => Promise<number>
  readonly onError: (error: unknown) => void
  /** The longest pause after failures, in milliseconds. Default: 10,000. */
  readonly lastRetryMs?: number | undefined
}

const FIRST_RETRY_MS = 500
/** What is deferred waits for so long, at the most, after its shard is back. */
const LAST_RETRY_MS = 10_000

/**
 * Does rounds until the signal fires, and resolves then. A round that fails is told and tried again, later each time.
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
      onError(error)
      pause = Math.min(retryAfter(failures), lastRetryMs)
      failures++
    }
    try {
      await time.sleep(pause, signal)
    } catch {
      // The signal: the loop ends by itself.
    }
  }
}

/** Milliseconds until the next try after so many failures in a row before this one. */
export function retryAfter(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures)
}
