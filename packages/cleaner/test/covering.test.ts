import { parseId, type EntityId } from '@looseleaf/core'
import type { CatalogEntry, Key } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { shardOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { fence } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkIndex } from '../src/check/check-index.ts'
import { cleanIndex } from '../src/clean/clean-index.ts'
import { indexTarget } from '../src/pass/index-target.ts'
import { createKeptRemovals } from '../src/repair/kept-removals.ts'
import { readCleanerReport } from '../src/report/cleaner-report.ts'
import { sweep } from '../src/sweep/sweep.ts'
import { openStore } from './stores.ts'

/* Rows of a covering index have included properties, and are valid only at the version that wrote them. */

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name', include: ['title'] })
const bag = { name: 'ada', title: 'one', text: 'long' }

let store: DataStore

beforeEach(async () => {
  store = await openStore({ indexes: [byName] })
})
afterEach(() => store.close())

/** Returns index, key and shard of the row of an entity. */
function placeOf(id: EntityId): { entry: CatalogEntry; key: Key; shard: number } {
  const { catalog } = store.context
  const entry = catalog.current().indexes.find(({ name }) => name === byName.name) as CatalogEntry
  const key = [Buffer.from(bag.name)]
  return { entry, key, shard: shardOfRow(entry, catalog.current().placement, key, parseId(id)) }
}

async function covered(): Promise<[titles: unknown[], covered: number]> {
  const { items, cost } = await store.list(byName, { name: 'ada' })
  return [items.map(({ title }) => title), cost.entitiesCovered]
}

it('a row that is older than its entity is rewritten by a sweep, and does not count as missing before', async () => {
  const { id, version } = await store.put(bag)
  const shard = store.context.router.shardOfId(parseId(id))
  await fence(store.context, { id: parseId(id), version }, version + 10)
  expect(await covered()).toEqual([['one'], 0])
  expect(await checkIndex(store, byName.name)).toMatchObject({ missing: 0, dangling: 0 })
  expect(await sweep(store, { shard })).toMatchObject({ added: 0 })
  expect(await covered()).toEqual([['one'], 1])
  const again = await sweep(store)
  expect(again).toMatchObject({ added: 0, removed: 0 })
})

it('an outdated row does not count as missing in the report', async () => {
  const { id, version } = await store.put(bag)
  await fence(store.context, { id: parseId(id), version }, version + 10)
  expect(await cleanIndex(store, byName.name)).toMatchObject({ added: 0 })
  expect(await covered()).toEqual([['one'], 1])
  const { indexes } = await readCleanerReport(store)
  expect(indexes[0]?.lastRun).toMatchObject({ missing: 0 })
})

it('a row that is written again, because its entity has it again, has its included properties', async () => {
  const { id, version } = await store.put(bag)
  const { entry, key, shard } = placeOf(id)
  const removals = createKeptRemovals(store.context)
  const entity = { id: parseId(id), version, updated: 0, expected: new Map() }
  const row = { key, entityId: parseId(id), version }
  removals.add({ target: indexTarget(store.context, entry), shard, row, misplaced: false, entity }, version)
  await removals.settle(undefined)
  expect(await covered()).toEqual([['one'], 1])
})

it('a filling writes included properties', async () => {
  await store.dropIndex(byName)
  await store.put(bag)
  await store.put({ ...bag, title: 'two' })
  await store.addIndex(byName)
  await cleanIndex(store, byName.name)
  const [titles, count] = await covered()
  expect(titles.toSorted()).toEqual(['one', 'two'])
  expect(count).toBe(2)
})

it('a sweep rewrites a row with the included properties of an attempt that never committed', async () => {
  const { id, version } = await store.put(bag)
  const { entry, key, shard } = placeOf(id)
  const included = store.context.codec.encode({ title: 'never' })
  const table = store.context.driver.shards[shard]!.index(tableSpec(entry))
  await table.upsert([{ key, entityId: parseId(id), version: version + 10, included }])
  const titles = async (): Promise<unknown[]> =>
    (await store.list(byName, { name: 'ada' }, { verify: false })).items.map(({ title }) => title)
  // The attempt may still commit.
  expect(await sweep(store)).toMatchObject({ fenced: 0 })
  expect(await titles()).toEqual(['never'])
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ fenced: 1, added: 0, removed: 0 })
  expect(await titles()).toEqual(['one'])
  expect(await covered()).toEqual([['one'], 1])
  // The row has the version of its entity by now.
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ fenced: 0 })
})

it('a row with the version of its entity is not written again', async () => {
  await store.put(bag)
  const { entry, shard } = placeOf(store.newId())
  const table = store.context.driver.shards[shard]!.index(tableSpec(entry))
  const { upsert } = table
  let upserts = 0
  table.upsert = (...args) => (upserts++, upsert(...args))
  await sweep(store)
  expect(upserts).toBe(0)
})
