import { expect, test } from 'vitest'
import { createRecentRate } from './recent-rate.ts'

test('the rate is that of the last 15 seconds, or of the time since the start', () => {
  let now = 500
  const rate = createRecentRate(() => now)
  expect(rate.perSecond()).toBe(0)
  rate.count(10)
  expect(rate.perSecond()).toBe(10_000)
  now += 99
  rate.count(5)
  now += 1
  rate.count(30)
  now = 1_500
  expect(rate.perSecond()).toBe(45)
  now = 500 + 14_999
  expect(rate.perSecond()).toBeCloseTo(45 / 14.999)
  // The first two counts share an entry, which is 15 seconds old.
  now = 500 + 15_000
  expect(rate.perSecond()).toBe(2)
  now = 500 + 15_100
  expect(rate.perSecond()).toBe(0)
})
