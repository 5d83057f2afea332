import type { Time } from '@looseleaf/core'

/** What ends with a store. */
export interface Closing {
  /**
   * `end` is called when the store begins to close, which waits for it, whatever comes of it: for five seconds at the most, and no longer
   * than leases last, in milliseconds, because others go on then. Answers what takes it back.
   */
  join(end: () => Promise<unknown>, leaseMs: number): () => void
  /** Has everything end; what joins later is not heard of. */
  end(): Promise<void>
}

const MOST_MS = 5_000

export function createClosing(time: Time): Closing {
  const ends = new Set<() => Promise<void>>()
  return {
    join(end, leaseMs) {
      const ending = async (): Promise<void> => {
        const ended = new AbortController()
        const tooLong = time.sleep(Math.min(MOST_MS, leaseMs), ended.signal).catch(() => {})
        try {
          await Promise.race([end(), tooLong])
        } finally {
          ended.abort()
        }
      }
      ends.add(ending)
      return () => void ends.delete(ending)
    },
    async end() {
      await Promise.allSettled(Array.from(ends, (end) => end()))
    },
  }
}
