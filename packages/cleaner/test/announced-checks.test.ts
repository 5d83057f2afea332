import { parseId, type Driver } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { checkIndex } from '../src/check/check-index.ts'
import { checkEntityPage, type MissingCounts } from '../src/check/check-page.ts'
import { indexTarget } from '../src/pass/index-target.ts'
import { createRepairPass } from '../src/repair/repair-pass.ts'
import { openStore } from './stores.ts'

// Checks while all buckets of shard 0 are announced to move to shard 1.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byNick = defineIndex('by_nick', { properties: { nick: 'string' }, shardOn: 'nick', unique: true })

let driver: Driver
let store: DataStore
/** Ids of entities on shard 0, and a value whose bucket is there. */
let ids: string[]
let text: string

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await openStore({ driver, indexes: [], time: leapingTime() })
  ids = [idOn(store, 0), idOn(store, 0)]
  text = 'a'
  while (store.context.router.shardOfKey(Buffer.from(text)) !== 0) text += 'a'
})

async function announce(): Promise<void> {
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: {
      ...layout!,
      revision: layout!.revision + 1,
      moves: [{ id: 1, from: 0, to: 1, buckets: '0-2047', phase: 'both' }],
    },
  }))
  await store.context.catalog.reload()
}

const entryOf = (name: string, isUnique: boolean): CatalogEntry =>
  store.context.catalog
    .current()
    .indexes.find((entry) => entry.name === name && (entry.unique === true) === isUnique)!

/** Returns the number of rows or claims of an index on both shards. */
const rowCounts = (entry: CatalogEntry): Promise<number[]> =>
  Promise.all(driver.shards.map((shard) => shard.index(tableSpec(entry)).count({ prefix: [] })))

/** Checks the page with the first entity, as a cleaning does. */
async function checkFirst(entry: CatalogEntry): Promise<MissingCounts | undefined> {
  const rows = await driver.shards[0]!.entities.read([parseId(ids[0]!)])
  const target = indexTarget(store.context, entry)
  return (await checkEntityPage(createRepairPass(store.context), [target], [rows[0]!], 0)).get(target)
}

test('a row that is missing on both shards of a move counts once', async () => {
  await store.put({ name: text }, { id: ids[0]! })
  await announce()
  await store.addIndex(byName)
  expect(await rowCounts(entryOf('by_name', false))).toEqual([0, 0])
  expect(await checkIndex(store, 'by_name')).toMatchObject({ missing: 1, unsettled: 0 })
})

test('a claim at the source that the target of the move refuses is a duplicate', async () => {
  const [, holder] = await store.putMany([
    { id: ids[0]!, nick: text },
    { id: ids[1]!, nick: text },
  ])
  await announce()
  await store.addIndex(byNick)
  const claims = entryOf('by_nick', true)
  const key = [Buffer.from(text)]
  const own = { key, entityId: parseId(ids[0]!), version: 1 }
  await driver.shards[0]!.claims(tableSpec(claims)).take([own])
  await driver.shards[1]!.claims(tableSpec(claims)).take([
    { key, entityId: parseId(ids[1]!), version: holder!.version },
  ])
  expect(await checkFirst(claims)).toEqual({ missing: 0, duplicates: 1 })
})

test('rows that are being filled, and claims that are ready, are left to the mover at its target', async () => {
  await store.addIndex(byNick)
  const { version } = await store.put({ name: text, nick: text }, { id: ids[0]! })
  await store.addIndex(byName)
  const rows = entryOf('by_name', false)
  const row = { key: [Buffer.from(text)], entityId: parseId(ids[0]!), version }
  await driver.shards[0]!.index(tableSpec(rows)).upsert([row])
  await announce()
  expect(await checkFirst(rows)).toBeUndefined()
  const claims = entryOf('by_nick', true)
  expect(await checkFirst({ ...claims, state: 'ready' })).toBeUndefined()
  expect([await rowCounts(rows), await rowCounts(claims)]).toEqual([
    [1, 0],
    [1, 0],
  ])
})
