import { describe, expect, test } from 'vitest'
import { percentile, spreadOf } from './statistics.ts'

describe('spreadOf', () => {
  test('the median of an odd number of values is the middle one, in any order', () => {
    expect(spreadOf([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 })
  })

  test('the median of an even number of values is the mean of the two middle ones', () => {
    expect(spreadOf([4, 1, 3, 2]).median).toBe(2.5)
  })

  test('a spread of no values throws RangeError', () => {
    expect(() => spreadOf([])).toThrow(RangeError)
  })
})

describe('percentile', () => {
  test('the percentile at 0 is the least value, and at 1 the greatest', () => {
    expect([percentile([1, 2, 9], 0), percentile([1, 2, 9], 1)]).toEqual([1, 9])
  })

  test('a percentile between two values is interpolated', () => {
    expect(percentile([0, 10], 0.99)).toBeCloseTo(9.9)
  })
})
