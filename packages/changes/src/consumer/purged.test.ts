import { parseId, type EntityId } from '@looseleaf/core'
import { consumerPlaces, editWhenFree, REGISTRY_TASK } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Search, SHARDS, until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
import type { Consumer } from './consume.ts'
import type { ConsumeOptions } from './consume-options.ts'
import type { Handler } from './row-handler.ts'

let search: Search
let store: DataStore
let handled: ChangedEntity[]

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  handled = []
})
afterEach(() => search.end(store))

const keep: Handler = (change) => void handled.push(change)

const start = (handler: Handler = keep, options: ConsumeOptions = {}): Consumer =>
  search.start(store, handler, { leaseMs: 300, ...options })

/** Purges the tombstone of an entity, as the cleaner does once it is old enough. */
async function purge(id: EntityId): Promise<void> {
  const key = parseId(id)
  const { entities } = search.memory.shards[store.context.router.shardOfId(key)]!
  const [row] = await entities.read([key])
  await entities.raisePurged({ updated: row!.updated + 1, version: row!.version + 1 }, { epoch: 1 })
  expect(await entities.purge([key])).toBe(1)
}

const places = async (): Promise<number[]> =>
  Promise.all(
    Array.from({ length: SHARDS }, async (_, shard) =>
      (await consumerPlaces(store.context, shard, {})).get('search')!,
    ),
  )

it('a consumer ends with an error if deletions that it has not seen were purged', async () => {
  const { id } = await store.put({ n: 1 })
  const first = start()
  await until(() => handled.length === 1)
  await first.stop()
  await store.delete(id)
  await purge(id)
  const errors: unknown[] = []
  const second = start(keep, { onError: (error) => void errors.push(error) })
  await until(() => !second.status().isRunning)
  expect(errors[0]).toMatchObject({ code: 'CHANGES_GONE' })
  expect(handled).toHaveLength(1)
})

it('the place of a consumer, for purges, is that of its slowest partition', async () => {
  await store.put({ n: 1 })
  const before = await Promise.all(search.memory.shards.map(({ entities }) => entities.raiseFloor()))
  const consumer = start()
  await until(() => handled.length === 1)
  await consumer.stop()
  const saved = await places()
  for (const [shard, place] of saved.entries()) expect(place).toBeGreaterThanOrEqual(before[shard]!)
  const { id } = await store.put({ n: 2 })
  const { updated } = (
    await search.memory.shards[store.context.router.shardOfId(parseId(id))]!.entities.read([parseId(id)])
  )[0]!
  expect((await places())[store.context.router.shardOfId(parseId(id))]).toBeLessThanOrEqual(updated)
})

it('a purge knows a consumer whose name only other shards have', async () => {
  const consumer = start()
  await until(async () => (await places()).every((place) => place !== undefined))
  await consumer.stop()
  await editWhenFree(store.context, 1, REGISTRY_TASK, () => '', {})
  expect([...(await consumerPlaces(store.context, 1, {})).keys()]).toEqual(['search'])
})

it('a consumer that begins after a purge receives every entity', async () => {
  const { id } = await store.put({ n: 1 })
  await store.delete(id)
  for (const { entities } of search.memory.shards) await entities.raiseFloor()
  await purge(id)
  const { id: other } = await store.put({ n: 2 })
  start()
  await until(() => handled.length === 1)
  expect(handled[0]).toMatchObject({ id: other })
})

it('the deletion of an entity whose change fails is handed over, although its tombstone was purged', async () => {
  let isDown = true
  const { id } = await store.put({ n: 1 })
  start((change) => {
    if (isDown) throw new Error('The search engine is down.')
    handled.push(change)
  })
  await until(async () => (await places()).length > 0)
  const { shards } = search.memory
  const { entities } = shards[store.context.router.shardOfId(parseId(id))]!
  await until(async () => (await entities.floor()).floor > 0)
  await store.delete(id)
  await until(async () => {
    const [row] = await entities.read([parseId(id)])
    return Math.min(...(await places())) > row!.updated
  })
  const [tombstone] = await entities.read([parseId(id)])
  await purge(id)
  isDown = false
  await until(() => handled.length > 0)
  expect(handled[0]).toMatchObject({ id, entity: undefined })
  expect(handled[0]!.version).toBe(tombstone!.version)
})
