import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', at: 'integer' }, shardOn: 'user' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

let memory: Driver
let store: DataStore
/** Operations on the tables of entities. */
const operations = new Set<string>()

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  const driver = faultyDriver(memory, ({ table, operation }) => {
    // Looks belong to no call.
    if (table === 'entities' && operation !== 'floor') operations.add(operation)
    return undefined
  })
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser, byTag], migrate: true })
  operations.clear()
})

afterEach(async () => {
  await store.close()
  await memory.close()
})

const put = async (bag: object): Promise<EntityId> => (await store.put(bag)).id
const idsOf = (page: { readonly items: readonly { readonly id: EntityId }[] }): EntityId[] =>
  page.items.map(({ id }) => id)

test('queryIds pages through ids in the order of the index, forward and backward, without reading entities', async () => {
  const ids: EntityId[] = []
  for (let at = 0; at < 7; at++) ids.push(await put({ user: 'ada', at }))
  await put({ user: 'bob', at: 1 })
  operations.clear()
  const first = await store.queryIds(byUser, { user: 'ada' }, { limit: 3 })
  expect(first.items).toEqual(ids.slice(0, 3).map((id) => ({ id })))
  expect(first.cost).toMatchObject({ complete: true, rowsMatched: 3, entityReads: 0, entitiesRead: 0 })
  const second = await store.queryIds(byUser, { user: 'ada' }, { limit: 3, cursor: first.cursor })
  expect(idsOf(second)).toEqual(ids.slice(3, 6))
  const back = await store.queryIds(byUser, { user: 'ada' }, { limit: 3, cursor: second.previous })
  expect(back.items).toEqual(first.items)
  expect(back).not.toHaveProperty('previous')
  const last = await store.queryIds(byUser, { user: 'ada' }, { limit: 3, cursor: second.cursor })
  expect([idsOf(last), last.cursor]).toEqual([ids.slice(6), undefined])
  const reversed = await store.queryIds(byUser, { user: 'ada' }, { order: 'desc' })
  expect(idsOf(reversed)).toEqual(ids.toReversed())
  expect(operations).toEqual(new Set())
})

test('a page of queryIds has an entity with several rows once', async () => {
  const ids = await Promise.all(
    Array.from({ length: 9 }, (_, n) => put({ tags: ['x', `y${n}`, `z${n % 3}`] })),
  )
  const page = await store.queryIds(byTag, {}, { scatter: true })
  expect(idsOf(page).toSorted()).toEqual(ids.toSorted())
  const some = await store.queryIds(byTag, { tags: { in: ['z1', 'x'] } })
  expect(idsOf(some).toSorted()).toEqual(ids.toSorted())
})

test('queryIds orders an entity by its first row, also after a write of a later one', async () => {
  const first = await put({ tags: ['a'] })
  const second = await put({ tags: ['b'] })
  await store.put({ tags: ['a', 'z'] }, { id: first })
  const ids = [first, second]
  expect(idsOf(await store.queryIds(byTag, {}, { scatter: true }))).toEqual(ids)
  expect(idsOf(await store.query(byTag, {}, { scatter: true }))).toEqual(ids)
})

test('queryIds returns ids of lost rows and of crashed writes', async () => {
  const moved = await put({ user: 'ada', at: 1 })
  await store.put({ user: 'bob', at: 1 }, { id: moved })
  const died = store.newId()
  const entry = store.context.catalog.current().indexes.find(({ name }) => name === byUser.name)!
  const shard = memory.shards[store.context.router.shardOfKey(Buffer.from('ada'))]!
  await shard
    .index(tableSpec(entry))
    .upsert([{ key: [Buffer.from('ada'), 2n], entityId: parseId(died), version: 1 }])
  expect(idsOf(await store.queryIds(byUser, { user: 'ada' }))).toEqual([moved, died])
  expect((await store.query(byUser, { user: 'ada' })).items).toEqual([])
})

test('exists returns true until the entity is deleted, without reading its body', async () => {
  const id = await put({ user: 'ada', at: 1 })
  const others = [store.newId(), store.newId({ near: id })]
  operations.clear()
  expect(await Promise.all([id, ...others, id].map((one) => store.exists(one)))).toEqual([
    true,
    false,
    false,
    true,
  ])
  expect(operations).toEqual(new Set(['exist']))
  await store.delete(id)
  expect(await store.exists(id)).toBe(false)
  await expect(store.exists('7')).rejects.toMatchObject({ code: 'BAD_ID' })
})

test('queryIds rejects onDamaged', async () => {
  // @ts-expect-error no body is decoded, so there is no onDamaged
  await expect(store.queryIds(byUser, { user: 'ada' }, { onDamaged: 'skip' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
})
