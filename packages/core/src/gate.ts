import { LooseleafError } from './errors.ts'

/** Lets calls in until it is closed, and knows when the last of them has ended. */
export interface Gate {
  /** A call begins; throws `CLOSED` once `close` was called. */
  enter(): void
  /** A call within one that has entered and not left: it goes in, also once `close` was called. */
  enterWithin(): void
  /** A call that entered has ended. */
  leave(): void
  /** Does the work of a call; rejects with `CLOSED` once `close` was called. */
  pass<T>(work: () => Promise<T>): Promise<T>
  /** Throws `CLOSED` once `close` was called. */
  checkOpen(): void
  /** Calls that have entered and not left. */
  readonly underWay: number
  /** Lets no call in any more; resolves when none is under way. */
  close(): Promise<void>
}

/** `closed`: the message of the errors, which says what is closed. */
export function createGate(closed: string): Gate {
  let underWay = 0
  let isClosed = false
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()

  function checkOpen(): void {
    if (isClosed) throw new LooseleafError('CLOSED', closed)
  }

  function enter(): void {
    checkOpen()
    underWay++
  }

  function leave(): void {
    underWay--
    if (isClosed && underWay === 0) end()
  }

  return {
    get underWay() {
      return underWay
    },
    checkOpen,
    enter,
    enterWithin: () => void underWay++,
    leave,
    async pass(work) {
      enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
    close() {
      isClosed = true
      if (underWay === 0) end()
      return ended
    },
  }
}
