import { describe, expect, test } from 'vitest'
import { percentile, spreadOf } from './statistics.ts'

describe('spreadOf', () => {
  test('takes the middle value of an odd number of values, in any order', () => {
    expect(spreadOf([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 })
  })

  test('takes the mean of the two middle values of an even number', () => {
    expect(spreadOf([4, 1, 3, 2]).median).toBe(2.5)
  })

  test('refuses to make something of nothing', () => {
    expect(() => spreadOf([])).toThrow(RangeError)
  })
})

describe('percentile', () => {
  test('is the least value at 0 and the greatest at 1', () => {
    expect([percentile([1, 2, 9], 0), percentile([1, 2, 9], 1)]).toEqual([1, 9])
  })

  test('lies between neighbours in proportion', () => {
    expect(percentile([0, 10], 0.99)).toBeCloseTo(9.9)
  })
})
