import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { countsOf } from '../test/evenness.ts'
import { evenBuckets } from './index.ts'

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
