import { expect, test } from 'vitest'
import { backOffMs } from './back-off.ts'

const BOUNDS = { firstMs: 500, maxMs: 10_000 }

test('pauses double from the first to the longest one, and no failure needs no pause', () => {
  expect([-1, 0, 1, 2, 3, 4, 5, 6, 7].map((failures) => backOffMs(failures, BOUNDS))).toEqual([
    0, 0, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ])
})

test('pauses stay finite after any number of failures', () => {
  expect(backOffMs(1_000_000, BOUNDS)).toBe(10_000)
  expect(backOffMs(1_000_000, { firstMs: 0, maxMs: 10_000 })).toBe(0)
})

test('a random pause is a part of the exact one', () => {
  let next = 0
  const random = { next: () => next, uuid: () => '' }
  expect(backOffMs(3, { ...BOUNDS, random })).toBe(0)
  next = 0.75
  expect(backOffMs(3, { ...BOUNDS, random })).toBe(1_500)
})
