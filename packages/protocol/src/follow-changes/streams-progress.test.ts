import type { Shard } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { streamsProgress } from './streams-progress.ts'

const first: AwayBuckets = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 5 }
const second: AwayBuckets = { ...first, move: 2, buckets: '10-19', end: 6 }

test.each<[string, AwayBuckets[], boolean]>([
  ['deletes none of its moved rows', [first, second], true],
  ['has begun to delete moved rows', [{ ...first, emptied: 8 }, second], false],
])(
  'a follower has handled all changes on a shard without a changed row only if the shard still keeps its rows: it %s',
  async (_, away, isHandled) => {
    const shard = {
      entities: { pageOfChanges: async () => [] },
      catalog: { load: async () => catalogOf({ serves: { owns: '20-99', away } }) },
    } as unknown as Shard
    const catalog = { latest: () => ({ layout: undefined }) }
    const context = { driver: { shards: [shard] }, catalog } as unknown as EngineContext
    const place = { updated: 1, addedId: 0, since: 1 }
    const progress = streamsProgress(context, () => place, new AbortController().signal)
    // The records were read before the shard could begin to delete.
    expect(await progress.hasHandled(0, 0, [first])).toBe(isHandled)
  },
)

test('a shard that deletes changes of the bucket is not asked for the others', async () => {
  const context = {
    driver: { shards: [{}] },
    catalog: { latest: () => ({ layout: undefined }) },
  } as unknown as EngineContext
  const progress = streamsProgress(
    context,
    () => ({ updated: 1, addedId: 0, since: 1 }),
    new AbortController().signal,
  )
  expect(await progress.hasHandled(0, 0, [first, { ...second, emptied: 8 }])).toBe(false)
})

test.each([
  [4, 1, false],
  [5, 1, true],
  [4, 7, false],
  [4, 8, true],
])(
  'a follower at %i that began at %i has handled the changes before 5 that were deleted at 8: %s',
  async (updated, since, isHandled) => {
    const progress = streamsProgress(
      {} as EngineContext,
      () => ({ updated, addedId: 0, since }),
      new AbortController().signal,
    )
    expect(await progress.hasHandled(0, 0, [{ ...first, emptied: 8 }])).toBe(isHandled)
  },
)

test('a follower that has not begun on a shard has handled nothing there, and has no beginning', async () => {
  const context = { catalog: { latest: () => ({ layout: undefined }) } } as unknown as EngineContext
  const { signal } = new AbortController()
  expect(await streamsProgress(context, () => undefined, signal).hasHandled(0, 0, [first])).toBe(false)
  const sinces = [undefined, 0, 7].map((since) =>
    streamsProgress(
      context,
      () => (since === undefined ? undefined : { updated: 9, addedId: 0, since }),
      signal,
    ).sinceOn(0),
  )
  expect(sinces).toEqual([undefined, undefined, 7])
})

test.each([
  [5, false],
  [6, true],
])(
  'a follower has handled all changes on a shard unless a row from %i is before the last end, 6',
  async (updated, isHandled) => {
    const shard = {
      entities: {
        pageOfChanges: async ({ until }: { readonly until: number }) => (updated < until ? [{}] : []),
      },
      catalog: { load: async () => catalogOf({ serves: { owns: '20-99', away: [first, second] } }) },
    }
    const context = {
      driver: { shards: [shard] },
      catalog: { latest: () => ({ layout: undefined }) },
    } as unknown as EngineContext
    const place = { updated: 1, addedId: 0, since: 1 }
    const progress = streamsProgress(context, () => place, new AbortController().signal)
    expect(await progress.hasHandled(0, 0, [first, second])).toBe(isHandled)
  },
)
