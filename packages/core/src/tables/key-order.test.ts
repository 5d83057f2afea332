import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { compareKeys, compareKeyValues, directionsOf } from './key-order.ts'
import type { KeyValue } from '../ports/index-table.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const value: fc.Arbitrary<KeyValue> = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: -3n, max: 3n }),
)

it('bytes compare as unsigned values, a prefix first', () => {
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

it('numbers compare by size', () => {
  expect(compareKeyValues(-(2n ** 63n), 2n ** 63n - 1n)).toBeLessThan(0)
  expect(compareKeyValues(2n ** 53n + 1n, 2n ** 53n)).toBeGreaterThan(0)
  expect(compareKeyValues(-1.5, -1.25)).toBeLessThan(0)
  expect(compareKeyValues(7n, 7n)).toBe(0)
})

it('keys compare by their first different column', () => {
  expect(compareKeys([bytes(1), 9n], [bytes(2), 0n], [1, 1])).toBeLessThan(0)
  expect(compareKeys([bytes(1), 9n], [bytes(1), 10n], [1, 1])).toBeLessThan(0)
  expect(compareKeys([bytes(1)], [bytes(1), 10n], [1, 1])).toBeLessThan(0)
})

it('the order of keys is antisymmetric and transitive', () => {
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      expect(Math.sign(compareKeyValues(a, b))).toBe(0 - Math.sign(compareKeyValues(b, a)))
      const inOrder = compareKeyValues(a, b) <= 0 && compareKeyValues(b, c) <= 0
      expect(!inOrder || compareKeyValues(a, c) <= 0).toBe(true)
    }),
  )
})

it('each column compares in its own direction', () => {
  const columns = [
    { name: 'score', type: 'integer', order: 'desc' },
    { name: 'published', type: 'time' },
  ] as const
  const directions = directionsOf(columns)
  expect(directions).toEqual([-1, 1])
  const ordered = [
    [2n, 1n],
    [2n, 3n],
    [1n, 0n],
    [1n, 2n],
  ]
  expect(ordered.toReversed().toSorted((a, b) => compareKeys(a, b, directions))).toEqual(ordered)
  expect(compareKeys([2n, 1n], [2n, 1n], directions)).toBe(0)
  expect(compareKeys([2n], [2n, 1n], directions)).toBeLessThan(0)
})
