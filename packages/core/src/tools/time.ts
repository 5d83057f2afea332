import { LooseleafError } from '../errors/errors.ts'
import { platformTime } from '../platform/platform-time.ts'

/** Time as a port, so that schedules can be tested without waiting. */
export interface Time {
  /** Milliseconds since 1970, for times that are stored or compared between processes. The clock may be set at any time. */
  now(): number
  /**
   * Milliseconds since an arbitrary moment, by a monotonic clock, for durations. Without this method `now` measures them.
   */
  elapsed?(): number
  /** Resolves after this many milliseconds; rejects with `ABORTED` when the signal fires. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** Time of the platform. Fake timers of a test do not move it. */
export const systemTime: Time = {
  now: platformTime.now,
  elapsed: platformTime.elapsed,
  sleep: (...args) => sleep(true, ...args),
}

const backgroundTime: Time = { ...systemTime, sleep: (...args) => sleep(false, ...args) }

/**
 * Returns the time for work in the background: a sleep of `systemTime` then does not keep the process alive. Any other time
 * is returned as it is.
 */
export function inBackground(time: Time): Time {
  return time === systemTime ? backgroundTime : time
}

/** Returns a clock for durations: milliseconds since an arbitrary moment. */
export function elapsedBy(time: Time): () => number {
  return () => time.elapsed?.() ?? time.now()
}

/** A longer timer of Node fires at once. A sleep that is cut to this length only makes its caller look again early. */
const LONGEST_MS = 2 ** 31 - 1

function sleep(keepsAlive: boolean, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortedError(signal))
    const onAbort = (): void => {
      platformTime.clearTimeout(timer)
      reject(abortedError(signal))
    }
    const timer = platformTime.setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      Math.min(milliseconds, LONGEST_MS),
    )
    if (!keepsAlive) timer.unref()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export function abortedError(signal: AbortSignal | undefined): LooseleafError {
  return new LooseleafError('ABORTED', 'The call was cancelled by its signal.', { cause: signal?.reason })
}

/** Throws `ABORTED` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal)
}

/** Waits for work, or rejects with `ABORTED` when the signal fires. The work itself is not stopped. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  if (signal.aborted) {
    work.catch(() => {})
    return Promise.reject(abortedError(signal))
  }
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortedError(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
