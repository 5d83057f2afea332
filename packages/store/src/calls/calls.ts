import { LooseleafError } from '@looseleaf/core'

/** The calls of a store: they are let in until it is closed, which waits for those that are under way. */
export interface Calls {
  /** Does the work of a call; rejects with `CLOSED` once the store is closed. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Throws `CLOSED` once the store is closed. */
  checkOpen(): void
  /** Lets no call in any more; resolves when the last one has ended. */
  close(): Promise<void>
}

export function createCalls(): Calls {
  let underWay = 0
  let isClosed = false
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()

  function checkOpen(): void {
    if (isClosed) throw new LooseleafError('CLOSED', 'The store is closed.')
  }

  return {
    checkOpen,
    async run(work) {
      checkOpen()
      underWay++
      try {
        return await work()
      } finally {
        underWay--
        if (isClosed && underWay === 0) end()
      }
    },
    close() {
      isClosed = true
      if (underWay === 0) end()
      return ended
    },
  }
}
