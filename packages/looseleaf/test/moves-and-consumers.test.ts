import { setTimeout as sleep } from 'node:timers/promises'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import {
  consume,
  DataStore,
  defineIndex,
  dropConsumer,
  moveBuckets,
  movesOf,
  readConsumers,
  resumeMoves,
  watch,
  type Driver,
} from '../src/index.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let driver: Driver
let store: DataStore
let mover: DataStore

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [byUser],
    migrate: true,
    queryTimeMs: 500,
  })
  mover = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], time: leapingTime() })
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

test('a watched page goes on while its entities move', async () => {
  const ids = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => (await store.put({ user: 'ada', n })).id),
  )
  await mover.close()
  // Readers of changes need a moment to get to the end of what the source gives up.
  let ahead = 0
  const time = {
    now: () => Date.now() + ahead,
    async sleep(milliseconds: number, signal?: AbortSignal) {
      const shortened = Math.min(milliseconds, 1_000)
      await sleep(shortened, undefined, { signal })
      ahead += milliseconds - shortened
    },
  }
  mover = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], time })
  const pages = watch(store, byUser, { user: 'ada' }, { limit: 20 })
  expect((await pages.next()).value!.items).toHaveLength(20)
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-2047' })
  for (const id of ids) await mover.put({ user: 'ada', n: 100 }, { id })
  // The last page has every write; without it the loop does not end.
  for await (const { items } of pages) if (items.filter(({ n }) => n === 100).length === ids.length) break
}, 40_000)

test('a move is refused while a consumer is registered, also if it is not running, and nothing is announced', async () => {
  const consumer = consume(store, 'search', () => {}, { from: 'now' })
  await expect.poll(async () => (await readConsumers(store)).length).toBe(1)
  await consumer.stop()
  await expect(moveBuckets(mover, PLAN)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('The store has consumers (search)'),
  })
  expect(await movesOf(mover)).toEqual([])
  await dropConsumer(store, 'search')
  expect(await moveBuckets(mover, PLAN)).toMatchObject({ state: 'done' })
})

test('a new consumer is refused while a move is announced, and begins by itself after it, with every entity once', async () => {
  const { layout } = store.context.catalog.current()
  const announced = { ...PLAN, id: layout!.revision + 1, phase: 'both' as const }
  await changeCatalogContents(driver, (contents) => ({
    ...contents,
    layout: { ...contents.layout!, revision: announced.id, moves: [announced] },
  }))
  const ids = new Set(
    (await store.putMany(Array.from({ length: 50 }, (_, n) => ({ user: 'ada', n })))).map(({ id }) => id),
  )
  const errors: unknown[] = []
  const handled: string[] = []
  const onError = (error: unknown): void => void errors.push(error)
  await using _ = consume(store, 'search', ({ id }) => void handled.push(id), { from: 'beginning', onError })
  await expect
    .poll(() => errors)
    .toContainEqual(
      expect.objectContaining({ code: 'CONFLICT', message: expect.stringContaining('is not over') }),
    )
  expect((await readConsumers(store)).length).toBe(0)
  await resumeMoves(mover)
  await expect.poll(() => handled.toSorted(), { timeout: 10_000 }).toEqual([...ids].toSorted())
})
