import { parseId, type Driver } from '@looseleaf/core'
import type { ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

// Stores whose shards have buckets of their own, so their epochs differ.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
let plan: FaultPlan
let store: DataStore
/** On shard 0 by the layout. */
let id: string

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  store = await open()
  id = idOn(store, 0)
  await changeCatalogContents(memory, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: 1, moves: [] },
  }))
  await store.context.catalog.reload()
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

const open = (): Promise<DataStore> =>
  DataStore.open({
    shards: keepOpen(faultyDriver(memory, (call) => plan(call))),
    indexes: [byName],
    migrate: true,
  })

/** Hands all buckets of shard 0 over to shard 1, as another process. Moves no data. */
async function handOver(): Promise<void> {
  const motion = { move: 1, attempt: 1, buckets: '0-2047' }
  const serves: ShardServes[] = [
    { owns: '', away: [{ ...motion, to: 1, end: 1 }] },
    { owns: '0-4095', arrived: [{ ...motion, from: 0, afterAddedId: 0, end: 1, begin: 2 }] },
  ]
  // The target twice, because both clocks may be in the same millisecond.
  for (const number of [0, 1, 1]) {
    const shard = memory.shards[number]!
    await changeServes(shard, (await shard.catalog.load())!, serves[number]!)
  }
}

async function shardsWithEntity(): Promise<number[]> {
  const rows = await Promise.all(memory.shards.map(({ entities }) => entities.readVersions([parseId(id)])))
  return rows.flatMap(([version], number) => (version === undefined ? [] : [number]))
}

test('a write of a process that knows the old owner of a bucket lands on the new one', async () => {
  await handOver()
  await store.put({ name: 'ada' }, { id })
  expect(await shardsWithEntity()).toEqual([1])
  expect(await store.get(id)).toMatchObject({ name: 'ada' })
  await store.update(id, (bag) => ({ ...bag, rank: 1 }))
  expect((await store.query(byName, { name: 'ada' })).items).toMatchObject([{ id, rank: 1 }])
})

test('an attempt whose bucket is handed over before its commit begins again on the new owner', async () => {
  plan = ({ table, operation, number }) =>
    table === 'entities' && operation === 'insert' && number === 1 ? { before: handOver } : undefined
  await store.put({ name: 'ada' }, { id })
  expect(await shardsWithEntity()).toEqual([1])
})

test('a process that opens a store whose epochs differ finds the owners, and changes no catalog', async () => {
  await handOver()
  const before = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
  const operations: string[] = []
  plan = ({ operation }) => {
    operations.push(operation)
    return undefined
  }
  const other = await open()
  expect(operations).not.toContain('flush')
  const { epochs, placement } = other.context.catalog.current()
  await other.close()
  expect(new Set(epochs).size).toBe(2)
  expect(placement.shardOfId(parseId(id))).toBe(1)
  expect(await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))).toEqual(before)
})

test('indexes and policies are changed on all shards while their epochs differ', async () => {
  await handOver()
  const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
  await store.addIndex(byRank)
  await store.setPolicies({ deleteDelayMs: 5 })
  const [first, second] = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
  expect(first!.indexes).toEqual(second!.indexes)
  expect([first!.deleteDelayMs, second!.deleteDelayMs]).toEqual([5, 5])
  expect([first!.serves?.owns, second!.serves?.owns]).toEqual(['', '0-4095'])
  await store.put({ name: 'ada', rank: 1 }, { id })
  expect(await shardsWithEntity()).toEqual([1])
})

test('a shard of a store with moves that has lost its tables gets an epoch of its own clock', async () => {
  await handOver()
  const { storeId } = store.context.catalog.current()
  await memory.close()
  memory = await memoryShards(2).connect()
  const [first, lost] = memory.shards
  await first!.createTables()
  await first!.catalog.init({
    storeId,
    epoch: 7,
    shardNumber: 0,
    shardCount: 2,
    router: store.context.router.fingerprint,
    layout: {
      revision: 1,
      scheme: 'buckets-1',
      shards: [
        { name: 'memory 0', buckets: '0-2047' },
        { name: 'memory 1', buckets: '2048-4095' },
      ],
      moves: [],
    },
    indexes: [],
  })
  let made: ShardCatalog | undefined
  plan = ({ operation, args }) => {
    if (operation === 'init') made = args[0] as ShardCatalog
    return undefined
  }
  const begin = await lost!.now()
  await (await open()).close()
  expect(made).toMatchObject({ shardNumber: 1, contentsEpoch: 7 })
  expect(made!.epoch).toBeGreaterThanOrEqual(begin)
})
