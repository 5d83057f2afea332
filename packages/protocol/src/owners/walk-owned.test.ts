import type { PlacedCatalog } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { placeBefore } from './walk-owned.ts'

const ARRIVED = { attempt: 1, from: 1, end: 1 }

/** A catalog of shard 0 that owns bucket 1 since ever, 5 since the begin 20, 6 and 7 since 25, and 8 since 30. */
function catalogOf(arrived: readonly object[] | undefined): PlacedCatalog {
  const served = new Map([
    [1, 0],
    [5, 20],
    [6, 25],
    [7, 25],
    [8, 30],
  ])
  return {
    shards: [{ serves: arrived && { owns: '1,5-8', arrived } }],
    placement: { servedOn: () => served },
  } as unknown as PlacedCatalog
}

const ARRIVALS = [
  { ...ARRIVED, move: 2, begin: 20, buckets: '5-6', afterAddedId: 70 },
  { ...ARRIVED, move: 2, begin: 25, buckets: '6-7', afterAddedId: 50 },
  { ...ARRIVED, move: 3, begin: 30, buckets: '8', afterAddedId: 90 },
  // An earlier arrival of a bucket that has left since.
  { ...ARRIVED, move: 1, begin: 10, buckets: '8', afterAddedId: 10 },
]

test.each([
  [[5], 70],
  [[6], 50],
  [[7], 50],
  [[8], 90],
  [[5, 8], 70],
  [[5, 6, 8], 50],
  [[1], 0],
  [[1, 8], 0],
  [[], 0],
])('the rows of the buckets %j begin behind the place %i', (buckets, place) => {
  expect(placeBefore(catalogOf(ARRIVALS), 0, buckets)).toBe(place)
})

test('the rows of a shard to which no bucket has come begin at its beginning', () => {
  expect(placeBefore(catalogOf(undefined), 0, [5])).toBe(0)
  expect(placeBefore({ ...catalogOf([]), shards: [] }, 0, [5])).toBe(0)
})
