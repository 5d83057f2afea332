import { metaOf, parseId } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  include: ['title'],
})

async function rowsWhileFilling(deleteDelayMs: number): Promise<[versions: number[], rows: unknown[]]> {
  const store = await DataStore.open({ shards: memoryShards(2), migrate: true, deleteDelayMs })
  onTestFinished(() => store.close())
  const { id } = await store.put({ name: 'ada', title: 'before' })
  await store.addIndex(byName)
  const versions = [metaOf((await store.get(id))!)!.version]
  // The edit changes the given bag in place, and returns it.
  await store.update(id, (bag) => Object.assign(bag, { name: 'bob', title: 'after' }))
  versions.push(metaOf((await store.get(id))!)!.version)
  const { catalog, codec, driver } = store.context
  const spec = tableSpec(catalog.current().indexes[0]!)
  const found = await Promise.all(driver.shards.map((shard) => shard.rowsOf([spec], [parseId(id)])))
  const scans = await Promise.all(
    driver.shards.map((shard) =>
      shard.index(spec).scan({ prefix: [], order: 'asc', limit: 10, included: true }),
    ),
  )
  expect(found.flat(2)).toHaveLength(scans.flat().length)
  const rowOf = ({ key, version, included }: IndexRow): unknown => [
    Buffer.from(key[0] as Uint8Array).toString(),
    version,
    codec.decode(included!)['title'],
  ]
  return [versions, scans.flat().map(rowOf)]
}

test('while an index is filled, a write keeps the rows of the state that it replaces', async () => {
  const [[before, after], rows] = await rowsWhileFilling(60_000)
  expect(rows).toHaveLength(2)
  expect(rows).toEqual(
    expect.arrayContaining([
      ['ada', before, 'before'],
      ['bob', after, 'after'],
    ]),
  )
})

test('a write keeps no rows of the replaced state if deleteDelayMs is 0', async () => {
  const [[, after], rows] = await rowsWhileFilling(0)
  expect(rows).toEqual([['bob', after, 'after']])
})

test('a write keeps no claim of the replaced state of a unique index that is filled', async () => {
  const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
  const store = await DataStore.open({ shards: memoryShards(2), migrate: true, deleteDelayMs: 60_000 })
  onTestFinished(() => store.close())
  const { id } = await store.put({ mail: 'ada' })
  await store.addIndex(byMail)
  await store.put({ mail: 'bob' }, { id })
  const claims = store.context.catalog.current().indexes.find(({ unique }) => unique)!
  const found = await Promise.all(
    store.context.driver.shards.map((shard) => shard.rowsOf([tableSpec(claims)], [parseId(id)])),
  )
  const mails = found.flat(2).map(({ key }) => Buffer.from(key[0] as Uint8Array).toString())
  expect(mails).toEqual(['bob'])
})

test('a write sends no rows of the state that it replaces for an index that is ready', async () => {
  const driver = await memoryShards(2).connect()
  const sent: string[] = []
  const watched = faultyDriver(driver, ({ operation, args: [rows] }) => {
    if (operation === 'upsert')
      for (const { key } of rows as readonly IndexRow[])
        sent.push(Buffer.from(key[0] as Uint8Array).toString())
    return undefined
  })
  const shards = keepOpen(watched)
  const store = await DataStore.open({ shards, indexes: [byName], migrate: true, deleteDelayMs: 60_000 })
  onTestFinished(async () => {
    await store.close()
    await driver.close()
  })
  const { id } = await store.put({ name: 'ada' })
  await store.put({ name: 'bob' }, { id })
  expect(sent).toEqual(['ada', 'bob'])
})
