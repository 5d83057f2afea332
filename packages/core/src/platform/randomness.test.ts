import { expect, test } from 'vitest'
import { systemRandomness } from './randomness.ts'
import { createVersionClock } from '../entities/version-clock.ts'

test('systemRandomness returns numbers below 1 and unique names', () => {
  const numbers = Array.from({ length: 1_000 }, () => systemRandomness.next())
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...numbers)).toBeLessThan(1)
  expect(new Set(numbers).size).toBeGreaterThan(990)
  const names = Array.from({ length: 100 }, () => systemRandomness.uuid())
  expect(new Set(names).size).toBe(100)
  for (const name of names) expect(name).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
})

test('a version clock uses the randomness that it is given', () => {
  const time = { now: () => 5, sleep: async () => undefined }
  const clock = createVersionClock(time, { ...systemRandomness, next: () => 0.25 })
  expect([clock.next(0), clock.next(0)]).toEqual([5_250, 5_250 + 1 + 2])
})
