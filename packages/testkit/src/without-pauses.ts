import { throwIfAborted, type Time } from '@looseleaf/core'

/**
 * The machine's time, but for its pauses: each is over within a millisecond or so, however long it was to be. For tests of
 * what a store does after a while, such as deleting index rows that an entity has lost. What waits for ever between two
 * looks, such as a cleaner with nothing to do, looks about a thousand times a second.
 */
export const withoutPauses: Time = {
  now: () => Date.now(),
  async sleep(_milliseconds, signal) {
    throwIfAborted(signal)
    await new Promise((resolve) => setTimeout(resolve, 1))
    throwIfAborted(signal)
  },
}
