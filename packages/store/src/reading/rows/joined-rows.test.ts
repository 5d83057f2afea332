import { randomBytes } from 'node:crypto'
import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

/** Sharded on the id that entities may be near to. */
const byUser = defineIndex('by_user', {
  properties: { user: 'uuid', n: 'number' },
  shardOn: 'user',
  include: ['title'],
})

let memory: Driver
let store: DataStore
/** Calls of the driver that read rows and entities, with their shard. */
let sent: string[]

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  sent = []
  const driver = faultyDriver(memory, ({ operation, shard }) => {
    if (/^(scan|read)/.test(operation)) sent.push(`${operation} ${shard}`)
    return undefined
  })
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], migrate: true })
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Puts entities of a user, each on this shard. */
async function putOn(shard: number, user: EntityId, count: number, more: object = {}): Promise<EntityId[]> {
  const bags = Array.from({ length: count }, (_, n) => ({
    id: idOn(store, shard),
    user,
    n,
    title: `title ${n}`,
    ...more,
  }))
  return (await store.putMany(bags)).map(({ id }) => id)
}

const page = (user: EntityId, limit = 5) => store.query(byUser, { user }, { limit })

/** Returns the calls of the driver by this work. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  sent = []
  await work()
  return sent
}

describe('a store whose rows lead to entities of the same shard', () => {
  let user: EntityId
  let ids: EntityId[]
  beforeEach(async () => {
    user = idOn(store, 0)
    ids = await putOn(0, user, 40)
    await page(user, 20)
  })

  test('a page, a list and a page of many conditions take one statement after the first page', async () => {
    expect(await callsOf(() => page(user))).toEqual(['scanEntities 0'])
    expect(await callsOf(() => store.list(byUser, { user }, { limit: 5 }))).toEqual(['scanVersions 0'])
    const many = () => store.queryMany(byUser, [{ user }, { user, n: { gte: 3 } }], { limit: 5 })
    expect(await callsOf(many)).toEqual(['scanEntities 0'])
    expect(await callsOf(() => store.queryIds(byUser, { user }))).toEqual(['scan 0'])
  })

  test('the next page takes one statement, and the page before reads the entity at its begin too', async () => {
    const first = await page(user)
    const next = () => store.query(byUser, { user }, { limit: 5, cursor: first.cursor })
    expect(await callsOf(next)).toEqual(['scanEntities 0'])
    const second = await next()
    const back = () => store.query(byUser, { user }, { limit: 5, cursor: second.previous })
    expect(await callsOf(back)).toEqual(['scanEntities 0', 'read 0'])
    expect((await back()).items).toEqual(first.items)
    expect(second.items.map(({ id }) => id)).toEqual(ids.slice(5, 10))
  })

  test('a page counts no reads of entities that came with their rows', async () => {
    const { cost } = await page(user)
    expect(cost).toMatchObject({ entityReads: 0, entitiesRead: 6, rowsExamined: 5, rowsMatched: 5 })
  })

  test('entities of other shards are read by id in the same call', async () => {
    const far = await putOn(1, user, 2, { n: -1 })
    expect(await callsOf(() => page(user))).toEqual(['scanEntities 0', 'readBounded 1'])
    const { items, cost } = await page(user)
    expect(new Set(items.slice(0, 2).map(({ id }) => id))).toEqual(new Set(far))
    expect(items.slice(2).map(({ id }) => id)).toEqual(ids.slice(0, 3))
    expect(cost.entityReads).toBe(1)
    expect(await callsOf(() => store.list(byUser, { user }, { limit: 5 }))).toEqual([
      'scanVersions 0',
      'readVersions 1',
    ])
    const list = await store.list(byUser, { user }, { limit: 5 })
    expect(list.cost).toMatchObject({ entityReads: 1, entitiesCovered: 6 })
  })

  test('a row that leads to no entity, or to a deleted one, takes no other statement', async () => {
    const index = memory.shards[0]!.index(tableSpec(store.context.catalog.current().indexes[0]!))
    const [row] = await index.scan({ prefix: [parseId(user)], order: 'asc', limit: 1 })
    await index.upsert([
      { ...row!, key: [parseId(user), -2], entityId: parseId(idOn(store, 0)), included: null },
    ])
    await store.delete(ids[0]!)
    await index.upsert([{ ...row!, included: null }])
    // Each row that is left out makes the page fetch more rows.
    expect(new Set(await callsOf(() => page(user)))).toEqual(new Set(['scanEntities 0']))
    expect((await page(user)).items.map(({ id }) => id)).toEqual(ids.slice(1, 6))
    expect((await store.list(byUser, { user }, { limit: 5 })).items).toMatchObject(
      [1, 2, 3, 4, 5].map((n) => ({ n, title: `title ${n}` })),
    )
  })

  test('a list reads an entity whose row has another version', async () => {
    const index = memory.shards[0]!.index(tableSpec(store.context.catalog.current().indexes[0]!))
    const [row] = await index.scan({ prefix: [parseId(user)], order: 'asc', limit: 1 })
    await index.upsert([{ ...row!, version: row!.version + 1, included: null }])
    expect(await callsOf(() => store.list(byUser, { user }, { limit: 2 }))).toEqual([
      'scanVersions 0',
      'read 0',
    ])
    const { items, cost } = await store.list(byUser, { user }, { limit: 2 })
    expect(items).toMatchObject([
      { n: 0, title: 'title 0' },
      { n: 1, title: 'title 1' },
    ])
    expect(cost).toMatchObject({ entitiesCovered: 2, entityReads: 1 })
  })

  test('a list without verify takes rows alone', async () => {
    const list = () => store.list(byUser, { user }, { limit: 5, verify: false })
    expect(await callsOf(list)).toEqual(['scan 0'])
    expect((await list()).cost).toMatchObject({ entityReads: 0, entitiesRead: 0 })
  })

  test('a list whose parts do not fit into memory together has all of them, in their order', async () => {
    const writer = idOn(store, 0)
    // Compressed they fit into their rows.
    const title = 'x'.repeat(1_500_000)
    for (let n = 0; n < 6; n++)
      await store.put({ id: idOn(store, 0), user: writer, n, title: `${n}${title}` })
    for (const verify of [true, false]) {
      const { items, cost } = await store.list(byUser, { user: writer }, { limit: 6, verify })
      expect(items.map((item) => [item['n'], String(item['title'])[0]])).toEqual(
        Array.from({ length: 6 }, (_, n) => [n, `${n}`]),
      )
      expect(cost).toMatchObject({ entitiesCovered: 6, entityReads: 0 })
    }
  })

  test('a count of few rows takes the count and one scan', async () => {
    expect(await callsOf(() => store.count(byUser, { user }))).toEqual(['scanVersions 0'])
    expect(await store.count(byUser, { user })).toBe(40)
  })

  test('a damaged body is left out, and reported', async () => {
    const [{ version }] = [(await memory.shards[0]!.entities.read([parseId(ids[1]!)]))[0]!]
    const { epoch } = (await memory.shards[0]!.catalog.load())!
    const damaged = { id: parseId(ids[1]!), base: version, version: version + 1, body: randomBytes(40) }
    await memory.shards[0]!.entities.replace([damaged], { epoch })
    await expect(page(user)).rejects.toMatchObject({ entity: ids[1], shard: memory.shards[0]!.name })
    const { items, cost } = await store.query(byUser, { user }, { limit: 3, onDamaged: () => {} })
    expect(items.map(({ id }) => id)).toEqual([ids[0], ids[2], ids[3]])
    expect(cost.damaged).toEqual([ids[1]])
  })

  test('a long body is read by its id, and the others come with their rows', async () => {
    const text = randomBytes(600_000).toString('base64')
    await store.update(ids[2]!, (bag) => ({ ...bag, text }))
    expect(await callsOf(() => page(user, 10))).toEqual(['scanEntities 0', 'read 0'])
    const { items } = await page(user, 10)
    expect(items.map(({ id }) => id)).toEqual(ids.slice(0, 10))
    expect(items[2]).toMatchObject({ text })
  })

  test('bodies that are mostly long are read by their ids', async () => {
    const writer = idOn(store, 0)
    await putOn(0, writer, 30, { text: randomBytes(300_000).toString('base64') })
    for (let i = 0; i < 10; i++) expect((await page(writer, 20)).items).toHaveLength(20)
    expect((await callsOf(() => page(writer, 20)))[0]).toBe('scan 0')
  })

  test('a list of values takes the statements of its scans', async () => {
    const other = idOn(store, 0)
    await putOn(0, other, 3)
    const both = () => store.query(byUser, { user: { in: [user, other] } }, { limit: 50 })
    expect(await callsOf(both)).toEqual(['scanEntities 0', 'scanEntities 0'])
    expect((await both()).items).toHaveLength(43)
  })
})

test('pages whose rows lead to entities of other shards read these by id', async () => {
  const user = idOn(store, 0)
  await putOn(1, user, 20)
  for (let i = 0; i < 5; i++) await page(user, 20)
  expect(await callsOf(() => page(user))).toEqual(['scan 0', 'readBounded 1'])
  expect((await page(user)).cost).toMatchObject({ entityReads: 1, entitiesRead: 6 })
})

test('rows of half near entities are read alone', async () => {
  const user = idOn(store, 0)
  const ids = [...(await putOn(0, user, 20)), ...(await putOn(1, user, 20))]
  for (let i = 0; i < 5; i++) await page(user, 40)
  expect((await callsOf(() => page(user, 40))).toSorted()).toEqual([
    'readBounded 0',
    'readBounded 1',
    'scan 0',
  ])
  expect((await page(user, 40)).items).toHaveLength(ids.length)
})

test('a read of all shards takes one statement on each of two', async () => {
  for (const shard of [0, 1]) await putOn(shard, idOn(store, shard), 20)
  const everybody = () => store.query(byUser, {}, { scatter: true, limit: 12 })
  await everybody()
  expect(await callsOf(everybody)).toEqual(['scanEntities 0', 'scanEntities 1'])
  expect((await everybody()).items).toHaveLength(12)
})
