import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codeOf } from '../test/code-of.ts'
import { countsOf } from '../test/evenness.ts'
import { evenBuckets, rebalanceBuckets } from './index.ts'
import { BUCKETS } from './internal.ts'

const shardNumbers: fc.Arbitrary<number> = fc.integer({ min: 1, max: 64 })

describe('evenBuckets', () => {
  test('evenBuckets gives each shard consecutive buckets, in shares that differ by at most one', () => {
    for (const shards of [1, 2, 3, 7, 16, 100, 1000, 4096]) {
      const map = evenBuckets(shards)
      expect(
        map.every(
          (shard, bucket) => bucket === 0 || shard - map[bucket - 1]! === 0 || shard - map[bucket - 1]! === 1,
        ),
      ).toBe(true)
      const counts = countsOf(map, shards)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
    }
  })

  test('the map of two shards is divided in the middle', () => {
    const map = evenBuckets(2)
    expect([map[0], map[2047], map[2048], map[4095]]).toEqual([0, 0, 1, 1])
  })

  test.each([0, -1, 1.5, NaN, 4097, '2'])('%s shards are BAD_OPTION', (shards) => {
    expect(codeOf(() => evenBuckets(shards as number))).toBe('BAD_OPTION')
  })
})

describe('rebalanceBuckets', () => {
  test('rebalanceBuckets gives even shares with the fewest moves, after any changes of the number of shards', () => {
    fc.assert(
      fc.property(shardNumbers, fc.array(shardNumbers, { minLength: 1, maxLength: 5 }), (first, changes) => {
        let map = evenBuckets(first)
        for (const shards of changes) {
          const next = rebalanceBuckets(map, shards)
          const counts = countsOf(next, shards)
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
          const kept = next.filter((shard, bucket) => shard === map[bucket]).length
          expect(kept).toBe(mostThatCanStay(map, shards))
          map = next
        }
      }),
    )
  })

  test('a third shard gets a third of the buckets, and the others exchange none', () => {
    const before = evenBuckets(2)
    const after = rebalanceBuckets(before, 3)
    const moved = after.flatMap((shard, bucket) => (shard === before[bucket] ? [] : [shard]))
    expect(moved.length).toBe(1365)
    expect(new Set(moved)).toEqual(new Set([2]))
  })

  test('a map that is not valid is BAD_OPTION', () => {
    expect(codeOf(() => rebalanceBuckets([0, 1], 2))).toBe('BAD_OPTION')
    expect(codeOf(() => rebalanceBuckets(evenBuckets(2), 0))).toBe('BAD_OPTION')
  })
})

/** Counts the least moves without making a map: the larger shares go where they keep a bucket. */
function mostThatCanStay(map: readonly number[], shards: number): number {
  const counts = countsOf(
    map.filter((shard) => shard < shards),
    BUCKETS,
  ).slice(0, shards)
  const share = Math.floor(BUCKETS / shards)
  const withinShare = counts.reduce((sum, count) => sum + Math.min(count, share), 0)
  return withinShare + Math.min(counts.filter((count) => count > share).length, BUCKETS % shards)
}
