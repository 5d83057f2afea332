import { expect, test } from 'vitest'
import { createRate } from './rate.ts'

test('a rate is the mean of the last ten whole seconds, and of fewer after its start', () => {
  let now = 1_000_000
  const rate = createRate(() => now)
  expect(rate.perSecond()).toBe(0)
  for (let i = 0; i < 6; i++) rate.count()
  expect(rate.perSecond()).toBe(0)
  now += 2_000
  expect(rate.perSecond()).toBe(3)
  now += 8_000
  expect(rate.perSecond()).toBe(0.6)
  rate.count()
  now += 1_000
  expect(rate.perSecond()).toBe(0.1)
  now += 60_000
  expect(rate.perSecond()).toBe(0)
})
