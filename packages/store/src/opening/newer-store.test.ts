import type { Driver, Shard, Time } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
let now: number
let store: DataStore

const time: Time = { now: () => now, sleep: async (milliseconds) => void (now += milliseconds) }

function open(migrate = false): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(memory), indexes: [byName], time, migrate })
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  now = Date.now()
  store = await open(true)
})
afterEach(() => memory.close())

/** Changes a catalog as a newer version may. */
async function change(shard: Shard, changed: object): Promise<void> {
  const catalog = (await shard.catalog.load()) as ShardCatalog
  await shard.catalog.change({ ...catalog, ...changed, epoch: catalog.epoch + 1 }, catalog.epoch)
}

const newer = [
  [
    'something unknown',
    { requires: [{ name: 'folding', since: '7.8.9' }] },
    'the store requires folding (in @looseleaf/store from 7.8.9 on)',
  ],
  ['another format', { format: 2 }, 'its catalog has format 2, and this version knows format 1'],
] as const

test.each([0, 1].flatMap((number) => newer.map(([name, ...rest]) => [name, number, ...rest] as const)))(
  'open rejects %s on shard %i, with or without migrate',
  async (_, number, fields, message) => {
    await change(memory.shards[number]!, fields)
    const before = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
    for (const migrate of [false, true]) {
      await expect(open(migrate)).rejects.toMatchObject({
        code: 'STORE_TOO_NEW',
        retryable: false,
        shard: memory.shards[number]!.name,
        message: expect.stringContaining(message),
      })
    }
    // The catalog of the other shard is unchanged, too.
    expect(await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))).toEqual(before)
  },
)

const id = '0b0f323c-2209-7c02-ac20-03022d0d2d01'
const calls = {
  query: () => store.query(byName, { name: 'one' }),
  getAll: () => store.getAll(byName, { name: 'one' }),
  count: () => store.count(byName, { name: 'one' }),
  put: () => store.put({ name: 'two' }, { id }),
  addIndex: () => store.addIndex(defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })),
}

test.each(Object.keys(calls) as (keyof typeof calls)[])(
  '%s of a process that was open before rejects within seconds, and so do all later calls',
  async (call) => {
    await store.put({ name: 'one' }, { id })
    for (const shard of memory.shards) await change(shard, newer[0][1])
    now += 2_000
    await expect(calls[call]()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
    for (const next of [calls.query, calls.put, calls.addIndex])
      await expect(next()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
  },
)

test('calls succeed again once the requirement is gone', async () => {
  for (const shard of memory.shards) await change(shard, newer[0][1])
  await expect(calls.put()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
  for (const shard of memory.shards) await change(shard, { requires: undefined })
  await store.context.catalog.reload()
  await calls.put()
  expect(await calls.count()).toBe(0)
})

test('status has the error STORE_TOO_NEW of one shard', async () => {
  await change(memory.shards[1]!, newer[0][1])
  const { shards } = await store.status()
  expect(shards.map(({ error }) => error?.code)).toEqual([undefined, 'STORE_TOO_NEW'])
})

test('status has the error of each shard and the known catalog while every shard is too new', async () => {
  for (const shard of memory.shards) await change(shard, newer[0][1])
  await expect(store.context.catalog.reload()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
  const { shards, indexes } = await store.status()
  expect(shards.map(({ error }) => error?.code)).toEqual(['STORE_TOO_NEW', 'STORE_TOO_NEW'])
  expect(indexes.map(({ name }) => name)).toEqual(['by_name'])
})

test('a change of the catalog brings requirements to all shards', async () => {
  const [first] = memory.shards
  const { epoch, indexes } = (await first!.catalog.load()) as ShardCatalog
  const requires = [{ name: 'delete-delay', since: '0.1.0' }]
  // A process that crashes between two shards leaves this.
  await change(first!, { requires, deleteDelayMs: 5 })
  await store.addIndex(defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' }))
  for (const { catalog } of memory.shards) {
    const loaded = (await catalog.load()) as ShardCatalog
    expect(loaded).toMatchObject({ format: 1, requires, deleteDelayMs: 5 })
    expect(loaded.epoch).toBeGreaterThan(epoch)
    expect(loaded.indexes).toHaveLength(indexes.length + 1)
  }
})

test('a store requires paths while it has an index over a value within an object', async () => {
  const nested = defineIndex('nested', { properties: { 'author.name': 'string' }, shardOn: 'author.name' })
  await store.addIndex(nested)
  const required = async (): Promise<unknown[]> =>
    Promise.all(memory.shards.map(async ({ catalog }) => (await catalog.load())?.requires))
  expect(await required()).toEqual([[{ name: 'paths', since: '0.1.0' }], [{ name: 'paths', since: '0.1.0' }]])
  await store.dropIndex(nested)
  expect(await required()).toEqual([undefined, undefined])
})
