import { LooseleafError } from '../errors/errors.ts'

/** Admits calls until it is closed, and tells when the last of them has ended. */
export interface Gate {
  /** Counts a call that begins. Throws `CLOSED` after `close`. */
  enter(): void
  /** Counts a call within one that has entered and not left. Admits it even after `close`. */
  enterWithin(): void
  /** Counts a call that has ended; once for each `enter` and `enterWithin`. */
  leave(): void
  /** Throws `CLOSED` after `close`. */
  checkOpen(): void
  /** Number of calls that have entered and not left. */
  readonly inFlight: number
  /** Number of calls that have entered since the gate was made. */
  readonly entered: number
  /** Refuses calls from now on. Resolves when the last admitted call has left. */
  close(): Promise<void>
}

/** `message`: message of the `CLOSED` errors, such as "The store is closed." */
export function createGate(message: string): Gate {
  let inFlight = 0
  let entered = 0
  let isClosed = false
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()

  function checkOpen(): void {
    if (isClosed) throw new LooseleafError('CLOSED', message)
  }

  function enterWithin(): void {
    inFlight++
    entered++
  }

  function enter(): void {
    checkOpen()
    enterWithin()
  }

  function leave(): void {
    inFlight--
    if (isClosed && inFlight === 0) end()
  }

  return {
    get inFlight() {
      return inFlight
    },
    get entered() {
      return entered
    },
    checkOpen,
    enter,
    enterWithin,
    leave,
    close() {
      isClosed = true
      if (inFlight === 0) end()
      return ended
    },
  }
}
