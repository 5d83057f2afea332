import { backgroundBackOff, backOffMs } from './back-off.ts'
import { guarded } from './callbacks.ts'
import type { Time } from './time.ts'

export interface BackgroundLoopOptions {
  readonly time: Time
  readonly signal: AbortSignal
  /** Does one round and resolves with the pause before the next one, in milliseconds. */
  readonly round: () => Promise<number>
  /** Called with the error of each failed round. Its own errors are ignored. */
  readonly onError: (error: unknown) => void
  /** Longest pause after a failure, in milliseconds. Default: 10,000. */
  readonly lastRetryMs?: number | undefined
}

/**
 * Repeats a round until the signal fires, then resolves. After a failed round, pauses grow from 500 ms up to `lastRetryMs`.
 * Never rejects.
 */
export async function backgroundLoop({
  time,
  signal,
  round,
  onError,
  lastRetryMs = backgroundBackOff.maxMs,
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
      failures++
      pause = backOffMs(failures, { ...backgroundBackOff, maxMs: lastRetryMs })
    }
    try {
      await time.sleep(pause, signal)
    } catch {
      // The signal has fired, so the loop ends.
    }
  }
}
