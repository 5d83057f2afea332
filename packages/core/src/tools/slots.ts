import { abortedError } from './time.ts'

/** A bounded number of slots. Calls that wait for one get it in their order. */
export interface Slots {
  /** Resolves when the caller has a slot. Rejects with `ABORTED` if the signal fires before. */
  enter(signal?: AbortSignal): Promise<void>
  /** Gives a slot back. */
  leave(): void
  /** Runs the work in a slot. Rejects with `ABORTED` if the signal fires before there is one. */
  pass<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result>
}

export function createSlots(limit: number): Slots {
  let taken = 0
  const waiting = new Set<() => void>()

  function wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        waiting.delete(get)
        signal?.removeEventListener('abort', abort)
      }
      const get = (): void => {
        stop()
        resolve()
      }
      const abort = (): void => {
        stop()
        reject(abortedError(signal))
      }
      signal?.addEventListener('abort', abort, { once: true })
      waiting.add(get)
    })
  }

  function enter(signal?: AbortSignal): Promise<void> {
    if (taken === limit) return wait(signal)
    taken++
    return Promise.resolve()
  }

  function leave(): void {
    // The slot goes to the next call at once, so that no later call takes it.
    const [next] = waiting
    if (next === undefined) taken--
    else next()
  }

  return {
    enter,
    leave,
    async pass(work, signal) {
      await enter(signal)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
