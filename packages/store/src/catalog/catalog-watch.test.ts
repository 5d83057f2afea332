import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createCatalogWatch } from './catalog-watch.ts'

let memory: Driver
beforeEach(async () => {
  memory = await memoryShards(2).connect()
})
afterEach(async () => {
  await memory.close()
})

async function open(driver: Driver = memory): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(driver), migrate: true })
}

it('has read the whole catalog when it says that rows may be pending', async () => {
  const slow = faultyDriver(memory, ({ operation }) =>
    operation === 'load' ? { after: () => new Promise((resolve) => setImmediate(resolve)) } : undefined,
  )
  const { context } = await open(slow)
  await changeCatalogContents(memory, ({ indexes }) => ({ indexes, mayDefer: false }))
  expect(await createCatalogWatch(context).mayBePending(1)).toBe(true)
  expect(context.catalog.current().mayDefer).toBe(true)
})

it('takes a shard that has lost its catalog for one where nobody has deferred', async () => {
  const { context } = await open()
  await memory.shards[1]!.dropIndexTable({ table: 'looseleaf_meta', columns: [] })
  await memory.shards[1]!.createTables()
  expect(await createCatalogWatch(context).mayBePending(1)).toBe(false)
})
