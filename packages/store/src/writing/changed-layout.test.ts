import { parseId, type Driver } from '@looseleaf/core'
import type { StoreLayout } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

let memory: Driver
let plan: FaultPlan
let store: DataStore

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byName, byMail, byRank], migrate: true })
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Exchanges the buckets of the two shards, as another process. Moves no data. */
async function exchangeBuckets(): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => {
    const { revision, shards, ...rest } = layout as StoreLayout
    const exchanged = shards.map(({ name }, number) => ({ name, buckets: shards[1 - number]!.buckets }))
    return { ...contents, layout: { ...rest, revision: revision + 1, shards: exchanged } }
  })
}

/** Returns an id whose bucket is on this shard in the layout that the store was made with. */
function idOn(shard: number): string {
  let id: string
  do id = store.newId()
  while (bucketOfId(parseId(id)) < 2048 !== (shard === 0))
  return id
}

/** Returns the numbers of the shards that have rows of an entity in this index or its claims. */
async function shardsWithRows(index: string, unique: boolean, id: string): Promise<number[]> {
  const entry = store.context.catalog
    .current()
    .indexes.find((each) => each.name === index && (each.unique ?? false) === unique)!
  const rows = await Promise.all(memory.shards.map((each) => each.rowsOf([tableSpec(entry)], [parseId(id)])))
  return rows.flatMap(([found], number) => (found!.length > 0 ? [number] : []))
}

async function shardsWithEntity(id: string): Promise<number[]> {
  const rows = await Promise.all(memory.shards.map(({ entities }) => entities.readVersions([parseId(id)])))
  return rows.flatMap(([version], number) => (version === undefined ? [] : [number]))
}

test.each([0, 1])(
  'a write of a process with an old layout lands on the new shard of a bucket that was on shard %i',
  async (shard) => {
    await exchangeBuckets()
    const id = idOn(shard)
    await store.put({ rank: 1 }, { id })
    expect(await shardsWithEntity(id)).toEqual([1 - shard])
    // The attempt with the old layout has left a row on the old shard, which a cleaner deletes.
    expect(await shardsWithRows('by_rank', false, id)).toContain(1 - shard)
    expect(await store.get(id)).toMatchObject({ rank: 1 })
  },
)

test('an attempt whose layout changes before its commit begins again on the new shard of its bucket', async () => {
  const id = idOn(0)
  let inserts = 0
  plan = ({ table, operation }) =>
    table === 'entities' && operation === 'insert' && inserts++ === 0
      ? { before: exchangeBuckets }
      : undefined
  await store.put({ name: 'ada', mail: 'ada@example.com', rank: 1 }, { id })
  expect([inserts, await shardsWithEntity(id)]).toEqual([2, [1]])
  expect((await store.query(byName, { name: 'ada' })).items).toMatchObject([{ id, rank: 1 }])
  const { placement } = store.context.catalog.current()
  const byKey = (key: string): number => placement.rows.readOfKey(Buffer.from(key))
  expect(await shardsWithRows('by_rank', false, id)).toContain(1)
  expect(await shardsWithRows('by_name', false, id)).toContain(byKey('ada'))
  expect(await shardsWithRows('by_mail', true, id)).toContain(byKey('ada@example.com'))
})

test('an update that finds the layout changed reads and replaces the entity on its new shard', async () => {
  const id = idOn(0)
  await store.put({ rank: 1 }, { id })
  const [row] = await memory.shards[0]!.entities.read([parseId(id)])
  await exchangeBuckets()
  const { epoch } = (await memory.shards[1]!.catalog.load())!
  await memory.shards[1]!.entities.insert([{ id: parseId(id), version: row!.version, body: row!.body! }], {
    epoch,
  })
  await store.update(id, (bag) => ({ ...bag, rank: 2 }))
  const versions = await Promise.all(
    memory.shards.map(({ entities }) => entities.readVersions([parseId(id)])),
  )
  expect(versions[0]).toEqual([row!.version])
  expect(versions[1]![0]).toBeGreaterThan(row!.version)
  expect(await store.get(id)).toMatchObject({ rank: 2 })
})

test('a store requires that its processes know layouts once the layout has changed', async () => {
  const required = async (): Promise<unknown[]> =>
    Promise.all(
      memory.shards.map(async ({ catalog }) => (await catalog.load())!.requires?.map(({ name }) => name)),
    )
  expect(await required()).toEqual([['unique'], ['unique']])
  await exchangeBuckets()
  expect(await required()).toEqual([
    ['layout', 'unique'],
    ['layout', 'unique'],
  ])
})

/** Adds a shard without buckets, as another process. */
async function addShard(): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: 1, shards: [...layout!.shards, { name: 'memory 2', buckets: '' }] },
  }))
}

test('a process that cannot connect to a joined shard answers calls that do not need it, and names it in the others', async () => {
  const { id } = await store.put({ name: 'ada', rank: 1 })
  await addShard()
  await store.context.catalog.reload()
  const { name } = store.context.driver.shards[2]!
  expect(await store.query(byName, { name: 'ada' })).toMatchObject({ items: [{ name: 'ada' }] })
  expect(await store.get(id)).toMatchObject({ name: 'ada' })
  await store.put({ rank: 2 })
  const missing = {
    code: 'SHARD_UNAVAILABLE',
    shard: name,
    message: expect.stringMatching(
      /^Shard 2 of the store, .* The driver knows only the shards that it was given\./,
    ),
  }
  await expect(store.query(byName, {}, { scatter: true })).rejects.toMatchObject(missing)
  await expect(store.getAll(byName, {}, { scatter: true })).rejects.toMatchObject(missing)
})

test.each<[string, () => Promise<unknown>, unknown]>([
  ['query', () => store.query(byName, { name: 'bob' }), { items: [{ rank: 1 }], cost: { complete: true } }],
  ['queryMany', () => store.queryMany(byName, [{ name: 'bob' }]), [{ items: [{ rank: 1 }] }]],
  ['queryIds', () => store.queryIds(byName, { name: 'bob' }), { items: [{}] }],
  ['getAll', () => store.getAll(byName, { name: 'bob' }), [{ rank: 1 }]],
  ['count', () => store.count(byName, { name: 'bob' }), 1],
  ['countMany', () => store.countMany(byName, [{ name: 'bob' }], { exact: false }), [1]],
])(
  '%s of a process that has not noticed a changed layout reads the new shards',
  async (_, call, expected) => {
    await exchangeBuckets()
    const other = await DataStore.open({ shards: keepOpen(memory) })
    await other.put({ name: 'bob', rank: 1 })
    await other.close()
    expect({ answer: await call() }).toMatchObject({ answer: expected })
  },
)
