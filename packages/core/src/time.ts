import { LooseleafError } from './errors.ts'
import { platformTime } from './platform-time.ts'

/** Time as a port, so that schedules can be tested without waiting. */
export interface Time {
  /** Milliseconds since 1970: for what is stored, and compared by others. The clock may be set at any time. */
  now(): number
  /**
   * Milliseconds that pass, from no moment in particular, by a clock that nobody sets: for how long something takes. A time
   * without it goes by `now`.
   */
  elapsed?(): number
  /** Resolves after this many milliseconds; rejects with `ABORTED` when the signal fires. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** The machine's own time, which fake timers of a test do not move. */
export const systemTime: Time = {
  now: platformTime.now,
  elapsed: platformTime.elapsed,
  sleep: (...args) => sleep(true, ...args),
}

const backgroundTime: Time = { ...systemTime, sleep: (...args) => sleep(false, ...args) }

/**
 * The same time for work in the background: a process that has nothing else to do may end while the machine's own time sleeps.
 * Another time is left as it is.
 */
export function inBackground(time: Time): Time {
  return time === systemTime ? backgroundTime : time
}

/** The clock for durations: milliseconds that pass, from no moment in particular. */
export function elapsedBy(time: Time): () => number {
  return () => time.elapsed?.() ?? time.now()
}

/** Timers of Node that should last longer end at once. Whoever sleeps this long looks again. */
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

/** The error of a call whose signal fired. */
export function abortedError(signal: AbortSignal | undefined): LooseleafError {
  return new LooseleafError('ABORTED', 'The call was cancelled by its signal.', { cause: signal?.reason })
}

/** Throws `ABORTED` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal)
}

/** Ends the wait for this work with `ABORTED` when the signal fires; the work itself goes on. */
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
