/** What ends with a store. */
export interface Closing {
  /** `end` is called when the store begins to close, which waits for it, whatever comes of it. Answers what takes it back. */
  join(end: () => Promise<unknown>): () => void
  /** Has everything end; what joins later is not heard of. */
  end(): Promise<void>
}

export function createClosing(): Closing {
  const ends = new Set<() => Promise<unknown>>()
  return {
    join(end) {
      ends.add(end)
      return () => void ends.delete(end)
    },
    async end() {
      await Promise.allSettled(Array.from(ends, (end) => end()))
    },
  }
}
