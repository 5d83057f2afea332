import { systemRandomness, type Randomness } from './randomness.ts'
import type { Time } from './time.ts'

/**
 * Gives the version of a write attempt: microseconds since 1970, a safe integer until the year 2255.
 * It is greater than the version that it replaces and than every version this clock gave before. The digits below
 * a millisecond are random, so that two processes hardly ever meet on one version.
 */
export interface VersionClock {
  next(base: number): number
}

export function createVersionClock(time: Time, random: Randomness = systemRandomness): VersionClock {
  let last = 0
  return {
    next(base) {
      // A time of one's own may have fractions of a millisecond; a version is whole.
      const now = Math.floor(time.now()) * 1000 + Math.floor(random.next() * 1000)
      const floor = Math.max(last, base)
      // A clock that stands or runs back: step past it, by little, so that a busy process does not run ahead of its time.
      // A base from a faster clock: others who replace it have nothing but this step to be told apart by.
      last = now > floor ? now : floor + 1 + Math.floor(random.next() * (base > last ? 1000 : 8))
      return last
    },
  }
}
