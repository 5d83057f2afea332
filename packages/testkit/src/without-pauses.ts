import { throwIfAborted, type Time } from '@looseleaf/core'

/**
 * The machine's time, but for its pauses: each is over in the next turn of the event loop, and takes no time. For tests of
 * what a store does after a while, such as deleting index rows that an entity has lost.
 */
export const withoutPauses: Time = {
  now: () => Date.now(),
  async sleep(_milliseconds, signal) {
    throwIfAborted(signal)
    await new Promise((resolve) => setImmediate(resolve))
    throwIfAborted(signal)
  },
}
