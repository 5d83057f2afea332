/** Work that goes on after its caller was answered, kept in sight so that `settled` and `close` can wait for it. */
export interface Background {
  /** Takes over a promise; its failure is handed to `onError`, never thrown. */
  add(work: Promise<unknown>): void
  /** Resolves when everything that was added has ended. */
  settled(): Promise<void>
  readonly size: number
}

export function createBackground(onError: (error: unknown) => void): Background {
  const running = new Set<Promise<unknown>>()
  return {
    get size() {
      return running.size
    },
    add(work) {
      const tracked: Promise<unknown> = work.catch(onError).finally(() => running.delete(tracked))
      running.add(tracked)
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
