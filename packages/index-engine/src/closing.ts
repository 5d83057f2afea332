import type { Time } from '@looseleaf/core'

/** Work that stops when the store closes, such as cleaners and consumers. */
export interface Closing {
  /**
   * Registers work. `stop` is called when the store begins to close, or at once if it is closing already. The store waits until
   * `stop` settles, for at most five seconds and at most `leaseMs` milliseconds: after that other processes take over the work.
   * A rejection of `stop` is ignored. Returns a function that removes the work.
   */
  join(stop: () => Promise<unknown>, leaseMs: number): () => void
  /** Stops all work, also the work that joins until `closed` settles. Resolves when everything has stopped. */
  end(closed: Promise<unknown>): Promise<void>
}

const MAX_WAIT_MS = 5_000

export function createClosing(time: Time): Closing {
  const stops = new Set<() => Promise<void>>()
  /** Stops of the work that joined since `end` was called. */
  const lateStops: Promise<void>[] = []
  let isEnding = false
  return {
    join(stop, leaseMs) {
      const stopInTime = async (): Promise<void> => {
        const stopped = new AbortController()
        const timeout = time.sleep(Math.min(MAX_WAIT_MS, leaseMs), stopped.signal).catch(() => {})
        try {
          await Promise.race([stop(), timeout])
        } finally {
          stopped.abort()
        }
      }
      // Stops in a later turn, because the caller needs the returned function first.
      if (isEnding)
        lateStops.push(
          Promise.resolve()
            .then(stopInTime)
            .catch(() => {}),
        )
      else stops.add(stopInTime)
      return () => void stops.delete(stopInTime)
    },
    async end(closed) {
      isEnding = true
      await Promise.allSettled([closed, ...Array.from(stops, (stop) => stop())])
      while (lateStops.length > 0) await Promise.all(lateStops.splice(0))
      // The store is closed, and refuses later work itself.
      isEnding = false
    },
  }
}
