import type { Time } from '@looseleaf/core'

/** What ends with a store. */
export interface Closing {
  /**
   * `end` is called when the store begins to close, which waits for it, whatever comes of it: for five seconds at the most, and no longer
   * than leases last, in milliseconds, because others go on then. What joins while the store closes is ended as soon as it has begun.
   * Answers what takes it back.
   */
  join(end: () => Promise<unknown>, leaseMs: number): () => void
  /** Has everything end, and what joins until the store is `closed`, which it waits for. */
  end(closed: Promise<unknown>): Promise<void>
}

const MOST_MS = 5_000

export function createClosing(time: Time): Closing {
  const ends = new Set<() => Promise<void>>()
  /** Of what has joined since `end` was called. */
  const late: Promise<void>[] = []
  let isEnding = false
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
      // Whoever joins has first to get what takes it back.
      if (isEnding)
        late.push(
          Promise.resolve()
            .then(ending)
            .catch(() => {}),
        )
      else ends.add(ending)
      return () => void ends.delete(ending)
    },
    async end(closed) {
      isEnding = true
      await Promise.allSettled([closed, ...Array.from(ends, (end) => end())])
      while (late.length > 0) await Promise.all(late.splice(0))
      // From now on whoever joins is told so by the store.
      isEnding = false
    },
  }
}
