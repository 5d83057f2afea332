/** Work that goes on after its caller was answered, kept in sight so that `settled` and `close` can wait for it. */
export interface Background {
  /** Takes over a promise; its failure is handed to `onError`, never thrown. */
  add(work: Promise<unknown>): void
  /** Resolves when everything that was added so far has ended, however much is added meanwhile. */
  settled(): Promise<void>
  readonly underWay: number
  /** True while more is under way than the limit. */
  readonly isFull: boolean
  /** Resolves when it is not full any more. */
  room(): Promise<void>
}

export function createBackground(limit: number, onError: (error: unknown) => void): Background {
  const running = new Set<Promise<unknown>>()
  let waiting: (() => void)[] = []

  function end(tracked: Promise<unknown>): void {
    running.delete(tracked)
    if (waiting.length === 0 || running.size > limit) return
    for (const go of waiting) go()
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
            // Whoever is told of errors may throw one; it is nobody else's business.
          }
          end(tracked)
        },
      )
      running.add(tracked)
    },
    async settled() {
      await Promise.all(running)
    },
    get underWay() {
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
