import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_CLOCK_MICROS, MAX_VERSION } from './stored-version.ts'
import type { Time } from '../tools/time.ts'
import { createVersionClock, type VersionClock } from './version-clock.ts'

const START = Date.UTC(2009, 1, 27)

/** Creates a clock over a time that the test sets. */
function clockAt(start: number): { clock: VersionClock; set(now: number): void } {
  let now = start
  const time: Time = {
    now: () => now,
    sleep: () => Promise.reject(new Error('The version clock never sleeps.')),
  }
  return { clock: createVersionClock(time), set: (to) => void (now = to) }
}

describe('createVersionClock', () => {
  test('a version is in microseconds, within its millisecond', () => {
    const version = clockAt(START).clock.next(0)
    expect(version).toBeGreaterThanOrEqual(START * 1000)
    expect(version).toBeLessThan((START + 1) * 1000)
  })

  test('each version is greater than its base and all versions before, for any times and bases', () => {
    const step = fc.record({
      now: fc.integer({ min: START - 5, max: START + 5 }),
      base: fc.oneof(fc.constant(0), fc.integer({ min: (START - 5) * 1000, max: (START + 5) * 1000 })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const { clock, set } = clockAt(START)
        let last = 0
        for (const { now, base } of steps) {
          set(now)
          const version = clock.next(base)
          expect(version).toBeGreaterThan(Math.max(base, last))
          expect(Number.isSafeInteger(version)).toBe(true)
          last = version
        }
      }),
    )
  })

  test('a thousand versions of a stopped clock differ, and do not run far ahead', () => {
    const { clock } = clockAt(START)
    const versions = Array.from({ length: 1000 }, () => clock.next(0))
    expect(new Set(versions).size).toBe(1000)
    expect(versions.at(-1)).toBeLessThan((START + 1) * 1000 + 8 * 1000)
  })

  test('a version exceeds a base from a clock years ahead by little', () => {
    const ahead = (START + 1e11) * 1000
    const version = clockAt(START).clock.next(ahead)
    expect(version - ahead).toBeGreaterThanOrEqual(1)
    expect(version - ahead).toBeLessThanOrEqual(1000)
  })

  test('versions are safe integers until the year 2255', () => {
    expect(Number.isSafeInteger(clockAt(Date.UTC(2255, 0)).clock.next(0))).toBe(true)
  })

  test.each([Date.UTC(2255, 5, 6), Date.UTC(2256, 0), 1e17, Infinity])(
    'a clock at %d ms throws BAD_CLOCK, and returns versions again once it is right',
    (ahead) => {
      const { clock, set } = clockAt(ahead)
      for (const base of [0, START * 1000]) {
        expect(() => clock.next(base)).toThrow(
          expect.objectContaining({
            code: 'BAD_CLOCK',
            message: expect.stringMatching(/^The clock of this process says .*Nothing was written/),
          }),
        )
      }
      set(START)
      expect(clock.next(0)).toBeLessThan((START + 1) * 1000)
    },
  )

  test('a version of the last accepted clock can be replaced, and the greatest version cannot', () => {
    const { clock } = clockAt(START)
    const last = MAX_CLOCK_MICROS
    expect(clock.next(last)).toBeGreaterThan(last)
    expect(() => clockAt(START).clock.next(MAX_VERSION)).toThrow(
      expect.objectContaining({ code: 'BAD_CLOCK' }),
    )
    expect(clockAt(START).clock.next(0)).toBeGreaterThan(0)
  })

  test('processes hardly ever choose the same version within a millisecond', () => {
    const versions = Array.from({ length: 100 }, () => clockAt(START).clock.next(0))
    // About 95 of 100 draws among 1,000 differ; the probability that fewer than 50 do is negligible.
    expect(new Set(versions).size).toBeGreaterThan(50)
  })

  test('processes that replace the same version from a clock ahead hardly ever choose the same next one', () => {
    const base = (START + 1000) * 1000
    const versions = Array.from({ length: 100 }, () => clockAt(START).clock.next(base))
    expect(new Set(versions).size).toBeGreaterThan(50)
  })
})
