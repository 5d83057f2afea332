import type { LayoutShard } from '@looseleaf/core/internal'
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
