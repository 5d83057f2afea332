/** Tracks work that continues after its caller was answered, so that `settled` and `close` can wait for it. */
export interface Background {
  /** Tracks a promise. Its rejection is passed to `onError` and never thrown. */
  add(work: Promise<unknown>): void
  /** Resolves when all work added so far has ended. Does not wait for work added later. */
  settled(): Promise<void>
  readonly inFlight: number
  /** True while more than `limit` promises are pending. */
  readonly isFull: boolean
  /** Resolves when `isFull` is false. */
  room(): Promise<void>
}

export function createBackground(limit: number, onError: (error: unknown) => void): Background {
  const running = new Set<Promise<unknown>>()
  let waiting: (() => void)[] = []

  function end(tracked: Promise<unknown>): void {
    running.delete(tracked)
    if (waiting.length === 0 || running.size > limit) return
    for (const proceed of waiting) proceed()
    waiting = []
  }

  return {
    add(work) {
      const tracked: Promise<void> = work.then(
        () => end(tracked),
        (error: unknown) => {
          try {
            onError(error)
          } catch {
            // An exception in `onError` must not become an unhandled rejection.
          }
          end(tracked)
        },
      )
      running.add(tracked)
    },
    async settled() {
      await Promise.all(running)
    },
    get inFlight() {
      return running.size
    },
    get isFull() {
      return running.size > limit
    },
    room() {
      if (running.size <= limit) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
}
