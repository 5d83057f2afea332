import type { Time } from '@looseleaf/core'
import { throwIfAborted } from '@looseleaf/core/internal'

/**
 * A `Time` for tests: the machine's clock, with pauses of about a millisecond, however long they should be. It makes a store do late
 * work at once, such as deleting lost index rows. A cleaner with nothing to do reads about a thousand times a second.
 */
export const withoutPauses: Time = {
  now: () => Date.now(),
  async sleep(_milliseconds, signal) {
    throwIfAborted(signal)
    await new Promise((resolve) => setTimeout(resolve, 1))
    throwIfAborted(signal)
  },
}
