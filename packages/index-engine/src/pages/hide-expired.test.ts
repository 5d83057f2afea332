import { expect, it, test } from 'vitest'
import { isExpired } from './hide-expired.ts'

const at = (milliseconds: number): Date => new Date(milliseconds)

it.each([
  ['at its time', { until: at(1000) }, true],
  ['a moment before', { until: at(1001) }, false],
  ['without a time', {}, false],
  ['with null', { until: null }, false],
  ['with a number', { until: 5 }, false],
  ['with an invalid Date', { until: at(Number.NaN) }, false],
  ['with times in an array', { until: [at(1)] }, false],
] as const)('an entity expires %s: %j is %s', (_, bag, expired) => {
  expect(isExpired(bag as never, 'until', 1000)).toBe(expired)
})

test('expires may be a path, and without it nothing expires', () => {
  const bag = { lease: { until: at(5) } }
  expect(isExpired(bag, 'lease.until', 5)).toBe(true)
  expect(isExpired(bag, undefined, 5)).toBe(false)
})
