import type { Driver } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createCatalogWatch } from './catalog-watch.ts'
import { looksOf } from '@looseleaf/protocol/internal'

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

it('the watch has read the whole catalog when it returns that rows may be pending', async () => {
  const slow = faultyDriver(memory, ({ operation }) =>
    operation === 'load' ? { after: () => new Promise((resolve) => setImmediate(resolve)) } : undefined,
  )
  const { context } = await open(slow)
  await changeCatalogContents(memory, ({ indexes }) => ({ indexes, mayDefer: false }))
  expect(await createCatalogWatch(context, looksOf(context)).mayBePending(1)).toBe(true)
  expect(context.catalog.current().mayDefer).toBe(true)
})

it('a shard that has lost its catalog counts as one without pending rows', async () => {
  const { context } = await open()
  await memory.shards[1]!.dropIndexTable({ table: 'looseleaf_meta', columns: [] })
  await memory.shards[1]!.createTables()
  expect(await createCatalogWatch(context, looksOf(context)).mayBePending(1)).toBe(false)
})

it('the statement of a look belongs to no trace', async () => {
  const people = defineIndex('people', { properties: { name: 'string' }, shardOn: 'name' })
  const store = await DataStore.open({ shards: memoryShards(2), migrate: true, indexes: [people] })
  const trace = await store.trace(async (running) => {
    await store.query(people, { name: 'ada' })
    return running
  })
  expect(trace.statements.map(({ text }) => text)).toEqual([expect.stringContaining('people')])
})

describe('a look at one shard', () => {
  /** Changes the catalog of one shard alone. */
  async function change(number: number, changed: Partial<ShardCatalog>): Promise<void> {
    const { catalog } = memory.shards[number]!
    const current = (await catalog.load())!
    await catalog.change({ ...current, ...changed, epoch: current.epoch + 1 }, current.epoch)
  }

  /** Opens a store, counts its loads of catalogs by shard, and lets the loads of shards in `broken` fail. */
  async function watched(): Promise<{
    readonly store: DataStore
    readonly loads: number[]
    readonly broken: Set<number>
  }> {
    const loads = [0, 0]
    const broken = new Set<number>()
    const store = await open(
      faultyDriver(memory, ({ shard, table, operation }) => {
        if (table !== 'catalog' || operation !== 'load') return undefined
        loads[shard]!++
        return broken.has(shard) ? { before: () => Promise.reject(new Error('broken')) } : undefined
      }),
    )
    loads.fill(0)
    return { store, loads, broken }
  }

  it('a look that finds a change is repeated while other shards do not answer', async () => {
    const { store, loads, broken } = await watched()
    await change(1, {})
    broken.add(0)
    const watch = createCatalogWatch(store.context, looksOf(store.context))
    await watch.mayBePending(1)
    const before = loads[1]!
    await watch.mayBePending(1)
    expect(loads[1]).toBeGreaterThan(before)
    broken.clear()
    await watch.mayBePending(1)
    const after = loads[1]!
    await watch.mayBePending(1)
    expect(loads[1]).toBe(after)
  })

  it('a look that fails asks no other shard', async () => {
    const { store, loads, broken } = await watched()
    broken.add(1)
    await expect(createCatalogWatch(store.context, looksOf(store.context)).mayBePending(1)).rejects.toThrow(
      'broken',
    )
    expect(loads[0]).toBe(0)
  })

  it('a look takes the answer of the whole catalog into account', async () => {
    const { store } = await watched()
    await change(0, { mayDefer: false })
    await store.context.catalog.reload()
    expect(await createCatalogWatch(store.context, looksOf(store.context)).mayBePending(1)).toBe(true)
  })

  it.each([
    ['its shard', 1, 1],
    ['another shard, after a change,', 0, 2],
  ])('a look that finds %s too new makes every use of the catalog fail', async (_, number, looks) => {
    const { store } = await watched()
    await change(number, { requires: [{ name: 'folding', since: '7.8.9' }] })
    if (looks === 2) await change(1, {})
    await expect(
      createCatalogWatch(store.context, looksOf(store.context)).mayBePending(1),
    ).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
    })
    expect(() => store.context.catalog.current()).toThrow(expect.objectContaining({ code: 'STORE_TOO_NEW' }))
  })
})
