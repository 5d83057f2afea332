import { parseId } from '@looseleaf/core'
import { PARTITIONS } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { Search, until } from '../../test/search.ts'
import { createRowHandler } from './row-handler.ts'

/** Failing changes of a partition whose entities move. Together with later ones they are more than a partition may have. */
const MOVED = 90
const LATER = 15

test('failing changes that were passed on, and stay for the time of a failover, stop no new changes of their partitions', async () => {
  const search = await Search.begin()
  const mover = await DataStore.open({
    shards: keepOpen(search.memory),
    migrate: true,
    deleteDelayMs: 600_000,
    time: leapingTime(),
  })
  const store = await search.openStore()
  const { placement } = store.context.catalog.current()
  const idOn = (shard: number): string => {
    for (;;) {
      const id = store.newId()
      if (placement.shardOfId(parseId(id)) === shard) return id
    }
  }
  const first = idOn(0)
  const ids = Array.from({ length: MOVED * PARTITIONS }, () => store.newId({ near: first }))
  await store.putMany(ids.map((id) => ({ id, fails: true })))
  const handled = new Set<string>()
  const consumer = search.start(
    store,
    ({ id, entity }) => {
      if (entity?.fails === true) throw new Error('The search engine is down.')
      handled.add(id)
    },
    { leaseMs: 300, maxAttempts: 100_000, onError: () => {} },
  )
  const failing = (shard: number): number => consumer.status().shards[shard]?.failing ?? 0
  await until(() => failing(0) === ids.length)
  const bucket = store.context.router.buckets!.ofId(parseId(first))
  expect(await mover.shards.move({ from: 0, to: 1, buckets: `${bucket}` })).toMatchObject({
    state: 'emptying',
  })
  await until(() => failing(1) > 0)
  const others = Array.from({ length: (LATER + 1) * PARTITIONS }, () => idOn(0))
  const later = others.slice(-PARTITIONS)
  for (const id of others) await store.put({ fails: !later.includes(id) }, { id })
  await until(() => later.every((id) => handled.has(id)))
  // Handlers of one page run at once, so the last failure may come after the last success.
  await until(() => failing(0) >= ids.length + LATER * PARTITIONS)
  expect(failing(0)).toBe(ids.length + LATER * PARTITIONS)
  await mover.close()
  await search.end(store)
})

test.each([
  [999, false],
  [1_000, true],
])('a partition with %i failing changes, all of them kept, is full: %s', async (count, isFull) => {
  const search = await Search.begin()
  const store = await search.openStore()
  const { signal } = new AbortController()
  const handler = createRowHandler(store.context, 0, 'search', () => {}, {
    passing: { countOpen: () => 0 },
    signal,
  } as Partial<Parameters<typeof createRowHandler>[4]> as Parameters<typeof createRowHandler>[4])
  const ids = Array.from({ length: count }, () => store.newId())
  const failing = new Map(
    ids.map((id) => [id, { id, version: 1, attempts: 1, error: 'down', failedAt: 0 }] as const),
  )
  const place = { updated: 1, addedId: 0 }
  expect(handler.isFull({ number: 0, place, since: 1, failing, isHeld: true })).toBe(isFull)
  await search.end(store)
})
