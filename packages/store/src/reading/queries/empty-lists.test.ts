import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { beforeAll, afterAll, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byUser = defineIndex('by_user', {
  properties: { user: 'string', due: { type: 'time', nulls: 'last' } },
  shardOn: 'user',
  include: ['title'],
})
const byTag = defineIndex('by_tag', {
  properties: { tags: 'string[]', due: { type: 'time', nulls: 'last' } },
  shardOn: 'id',
})

let store: DataStore

beforeAll(async () => {
  store = await DataStore.open({ shards: memoryShards(2), indexes: [byUser, byTag], migrate: true })
  await store.putMany(['a', 'b', 'c'].map((user) => ({ user, tags: [user], title: user, due: new Date(1) })))
})

afterAll(() => store.close())

const none = { user: { in: [] } }

test('a query with an empty value list is empty and complete, and asks no shard', async () => {
  const page = await store.query(byUser, none)
  expect(page).toEqual({
    items: [],
    cost: expect.objectContaining({ complete: true, shards: 0, indexReads: 0 }),
  })
})

test.each([
  ['before a value', { user: { in: [] }, due: new Date(1) }],
  ['before a range', { user: { in: [] }, due: { gt: new Date(0) } }],
  ['behind a value', { user: 'a', due: { in: [] } }],
  ['behind a list', { user: { in: ['a', 'b'] }, due: { in: [] } }],
])('an empty value list %s matches nothing', async (_, where) => {
  expect((await store.query(byUser, where)).items).toEqual([])
  expect(await store.count(byUser, where)).toBe(0)
})

test('every call that takes a value list accepts an empty one', async () => {
  expect(await store.getAll(byUser, none)).toEqual([])
  expect((await store.queryIds(byUser, none)).items).toEqual([])
  expect((await store.list(byUser, none)).items).toEqual([])
  expect(await store.count(byUser, none, { exact: true })).toBe(0)
  expect(await store.countMany(byUser, [none, { user: 'a' }])).toEqual([0, 1])
  const pages = await store.queryMany(byUser, [{ user: 'b' }, none], { count: true })
  expect(pages.map(({ items, count }) => [items.length, count])).toEqual([
    [1, 1],
    [0, 0],
  ])
  expect(await store.explain(byUser, none)).toMatchObject({ shards: [], ranges: 0, estimatedRows: 0 })
})

test('an intersection with an empty value list is empty', async () => {
  const { items, cost } = await store.intersect(
    [
      { index: byTag, where: { tags: { in: [] } } },
      { index: byTag, where: { tags: 'a' } },
    ],
    { scatter: true },
  )
  expect([items, cost.complete, cost.shards]).toEqual([[], true, 0])
})

test('an empty value list is checked like any other', async () => {
  await expect(store.query(byUser, { due: { in: [] } }, { scatter: true })).rejects.toThrow(
    /cannot use due without a value of user/,
  )
  await expect(store.query(byTag, { tags: { in: [] } })).rejects.toThrow(/give \{ scatter: true \}/)
  const mixed = [
    { index: byTag, where: { tags: { in: [] } } },
    { index: byUser, where: { user: 'a', due: new Date(1) } },
  ] as const
  await expect(store.intersect(mixed, { scatter: true })).rejects.toThrow(/cannot be read together/)
})

test('a query with an empty value list rejects the cursor of another query', async () => {
  const { cursor } = await store.query(byUser, {}, { scatter: true, limit: 1 })
  await expect(store.query(byUser, none, { cursor })).rejects.toMatchObject({
    code: 'BAD_CURSOR',
    message: expect.stringContaining('belongs to a query with another where'),
  })
})
