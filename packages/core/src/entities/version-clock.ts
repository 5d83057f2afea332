import { LooseleafError } from '../errors/errors.ts'
import { systemRandomness, type Randomness } from '../platform/randomness.ts'
import { badClock, isVersion, MAX_CLOCK_MICROS } from './stored-version.ts'
import type { Time } from '../tools/time.ts'

/**
 * Returns versions for write attempts: microseconds since 1970, as safe integers. A version is greater than the one that it
 * replaces and than every version that this clock returned before. The digits below a millisecond are random, so that two
 * processes hardly ever choose the same version.
 */
export interface VersionClock {
  /**
   * Returns a version greater than `base`, the version to be replaced. Throws `BAD_CLOCK` if the clock is beyond the year 2255 or
   * no readable version is greater than `base`.
   */
  next(base: number): number
}

export function createVersionClock(time: Time, random: Randomness = systemRandomness): VersionClock {
  let last = 0
  return {
    next(base) {
      // The time of a caller may have fractions of a millisecond; a version is an integer.
      const now = Math.floor(time.now()) * 1000 + Math.floor(random.next() * 1000)
      if (now > MAX_CLOCK_MICROS) throw badClock('this process', now / 1_000)
      const floor = Math.max(last, base)
      // The clock may stand still or go back: small steps keep a busy process from running ahead of its time. If `base`
      // comes from a faster clock, only the random step distinguishes the writers that replace it, so it is larger.
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
    'The stored version comes from a clock that was centuries ahead, and no greater version can be read. Nothing was written.',
  )
}
