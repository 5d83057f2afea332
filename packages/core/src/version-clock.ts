import { LooseleafError } from './errors.ts'
import { systemRandomness, type Randomness } from './randomness.ts'
import { badClock, isVersion, MAX_CLOCK_MICROS } from './stored-version.ts'
import type { Time } from './time.ts'

/**
 * Gives the version of a write attempt: microseconds since 1970, a safe integer.
 * It is greater than the version that it replaces and than every version this clock gave before. The digits below
 * a millisecond are random, so that two processes hardly ever meet on one version.
 */
export interface VersionClock {
  /** Throws `BAD_CLOCK` where the version could not be read: by a clock beyond the year 2255, or above the greatest version. */
  next(base: number): number
}

export function createVersionClock(time: Time, random: Randomness = systemRandomness): VersionClock {
  let last = 0
  return {
    next(base) {
      // A time of one's own may have fractions of a millisecond; a version is whole.
      const now = Math.floor(time.now()) * 1000 + Math.floor(random.next() * 1000)
      if (now > MAX_CLOCK_MICROS) throw badClock('this process', now / 1_000)
      const floor = Math.max(last, base)
      // A clock that stands or runs back: step past it, by little, so that a busy process does not run ahead of its time.
      // A base from a faster clock: others who replace it have nothing but this step to be told apart by.
      const next = now > floor ? now : floor + 1 + Math.floor(random.next() * (base > last ? 1000 : 8))
      if (!isVersion(next)) throw noVersionLeft()
      last = next
      return next
    },
  }
}

function noVersionLeft(): LooseleafError {
  return new LooseleafError(
    'BAD_CLOCK',
    'The version that is to be replaced was given by a clock that was centuries ahead, and no greater one can be read. Nothing was written.',
  )
}
