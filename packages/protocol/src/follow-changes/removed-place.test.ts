import type { AwayBuckets, LayoutShard } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { placeOnRemoved } from './removed-place.ts'

test('a follower keeps its place on a removed shard that never had a bucket, and on no other shard', () => {
  const shards: LayoutShard[] = [
    { name: '0', buckets: '', state: 'removed' },
    { name: '1', buckets: '0-9' },
  ]
  const context = { catalog: { latest: () => ({ layout: { shards } }) } } as unknown as EngineContext
  const place = { updated: 5, addedId: 1, since: 2 }
  expect(placeOnRemoved(context, 0, place)).toEqual(place)
  expect(placeOnRemoved(context, 0, undefined)).toEqual({ updated: 1, addedId: 0, since: 1 })
  expect(placeOnRemoved(context, 1, place)).toBeUndefined()
})

const AWAY: AwayBuckets = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 50, emptied: 60 }

/** A store whose shard 0 was removed after it had given these buckets up. */
function storeWith(away: readonly AwayBuckets[]): EngineContext {
  const shards: LayoutShard[] = [
    { name: '0', buckets: '', state: 'removed', away },
    { name: '1', buckets: '0-9' },
  ]
  return {
    driver: { shards: shards.map(({ name }) => ({ name })) },
    catalog: { latest: () => ({ layout: { shards } }) },
  } as unknown as EngineContext
}

test.each([
  [[AWAY], 60],
  [[AWAY, { ...AWAY, move: 2, end: 80, emptied: 70 }], 80],
  [[{ ...AWAY, emptied: undefined }], 50],
])('a follower begins on a removed shard after all of its changes: %j', (away, after) => {
  const begun = { updated: after, addedId: 0, since: after }
  expect(placeOnRemoved(storeWith(away), 0, undefined)).toEqual(begun)
  expect(placeOnRemoved(storeWith(away), 0, { updated: 0, addedId: 0, since: 0 })).toEqual(begun)
})

test.each([
  [49, 59, true],
  [0, 59, true],
  [50, 0, false],
  [49, 60, false],
  [0, 60, false],
])(
  'a follower at %i that began at %i has missed changes of a removed shard: %s',
  (updated, since, isGone) => {
    const place = { updated, addedId: 0, since }
    const find = (): unknown => placeOnRemoved(storeWith([AWAY]), 0, place)
    if (isGone)
      expect(find).toThrow(
        expect.objectContaining({
          code: 'CHANGES_GONE',
          shard: '0',
          message: expect.stringContaining('moved to shard 1'),
        }),
      )
    else expect(find()).toEqual(place)
  },
)
