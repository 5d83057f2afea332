import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bucketsIn,
  formatRanges,
  parseRanges,
  rangesInclude,
  unionOfRanges,
  withoutRanges,
  type BucketRange,
} from './bucket-ranges.ts'

const sets = fc.uniqueArray(fc.integer({ min: 0, max: 40 })).map((buckets) => new Set(buckets))
const textOf = (buckets: Iterable<number>): string =>
  formatRanges(Array.from(buckets, (bucket): BucketRange => [bucket, bucket]))

describe('ranges of buckets', () => {
  test.each<[string, readonly BucketRange[]]>([
    ['', []],
    ['0', [[0, 0]]],
    [
      '0-76,97',
      [
        [0, 76],
        [97, 97],
      ],
    ],
    [
      '5-5,6-7',
      [
        [5, 5],
        [6, 7],
      ],
    ],
  ])('the text %j has the ranges %j', (text, ranges) => {
    expect(parseRanges(text)).toEqual(ranges)
  })

  test.each(['x', '0-', '-1', '1.5', ' 1', '0,,1', '0,', '7-3', '3,1', '1-4,4', '1234567890'])(
    'the text %j is refused',
    (text) => {
      expect(parseRanges(text)).toBeUndefined()
      expect(() => bucketsIn(text)).toThrow(RangeError)
      expect(() => unionOfRanges('1', text)).toThrow(RangeError)
      expect(() => withoutRanges('1', text)).toThrow(RangeError)
      expect(() => rangesInclude(text, '1')).toThrow(RangeError)
    },
  )

  test('ranges that overlap or are next to each other are formatted as one', () => {
    const ranges: BucketRange[] = [
      [9, 9],
      [3, 4],
      [0, 1],
      [5, 7],
      [6, 6],
    ]
    expect(formatRanges(ranges)).toBe('0-1,3-7,9')
  })

  test('the operations on ranges agree with those of sets', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [left, right] = [textOf(a), textOf(b)]
        expect(bucketsIn(left)).toEqual([...a].toSorted((x, y) => x - y))
        expect(unionOfRanges(left, right)).toBe(textOf(a.union(b)))
        expect(withoutRanges(left, right)).toBe(textOf(a.difference(b)))
        expect(rangesInclude(left, right)).toBe(b.isSubsetOf(a))
        expect(formatRanges(parseRanges(left)!)).toBe(left)
      }),
    )
  })
})
