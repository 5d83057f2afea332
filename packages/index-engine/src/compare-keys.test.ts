import type { KeyValue } from '@looseleaf/core'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { compareKeys, compareKeyValues, keyIdentity } from './compare-keys.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const value: fc.Arbitrary<KeyValue> = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: -3n, max: 3n }),
)
/** Keys of one index: the same kinds of values in the same columns. */
const key = fc.tuple(
  fc.uint8Array({ maxLength: 2, max: 2 }),
  fc.integer({ min: -2, max: 2 }),
  fc.bigInt({ min: -2n, max: 2n }),
)

it('orders bytes as unsigned values, and a beginning before what goes on', () => {
  const ordered = [
    bytes(),
    bytes(0),
    bytes(0, 0),
    bytes(0, 255),
    bytes(127),
    bytes(128),
    bytes(255),
    bytes(255, 0),
  ]
  expect(ordered.toReversed().toSorted(compareKeyValues)).toEqual(ordered)
})

it('orders numbers by size', () => {
  expect(compareKeyValues(-(2n ** 63n), 2n ** 63n - 1n)).toBeLessThan(0)
  expect(compareKeyValues(2n ** 53n + 1n, 2n ** 53n)).toBeGreaterThan(0)
  expect(compareKeyValues(-1.5, -1.25)).toBeLessThan(0)
  expect(compareKeyValues(7n, 7n)).toBe(0)
})

it('orders keys by their first column that differs', () => {
  expect(compareKeys([bytes(1), 9n], [bytes(2), 0n])).toBeLessThan(0)
  expect(compareKeys([bytes(1), 9n], [bytes(1), 10n])).toBeLessThan(0)
  expect(compareKeys([bytes(1)], [bytes(1), 10n])).toBeLessThan(0)
})

it('is an order: turned round it is the other way, and of three it keeps the ends apart', () => {
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      expect(Math.sign(compareKeyValues(a, b))).toBe(0 - Math.sign(compareKeyValues(b, a)))
      const inOrder = compareKeyValues(a, b) <= 0 && compareKeyValues(b, c) <= 0
      expect(!inOrder || compareKeyValues(a, c) <= 0).toBe(true)
    }),
  )
})

it('gives two keys one identity exactly when they are equal', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(keyIdentity(a) === keyIdentity(b)).toBe(compareKeys(a, b) === 0)
    }),
    { numRuns: 1000 },
  )
  expect(keyIdentity([bytes(49), bytes()])).not.toBe(keyIdentity([bytes(), bytes(49)]))
  expect(keyIdentity([0])).toBe(keyIdentity([-0]))
})
