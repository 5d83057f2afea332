import { expect, test } from 'vitest'
import { plansFor } from './layouts.ts'

test('plans give every shard its share, move nothing else, and empty shards that are left out', () => {
  expect(plansFor(['0-5', '6-11'], [0, 1])).toEqual([])
  expect(plansFor(['0-5', '6-11', ''], [0, 1, 2])).toEqual([
    { from: 0, to: 2, buckets: '4-5' },
    { from: 1, to: 2, buckets: '10-11' },
  ])
  expect(plansFor(['0-3', '6-9', '4-5,10-11'], [0, 1])).toEqual([
    { from: 2, to: 0, buckets: '4-5' },
    { from: 2, to: 1, buckets: '10-11' },
  ])
})
