import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, loadShardCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })

let memory: Driver
/** The database that joins. */
let spare: Shard
let driver: Driver
let time: LeapingTime
let stores: DataStore[]
let store: DataStore

beforeEach(async () => {
  memory = await memoryShards(4).connect()
  const { shards } = memory
  spare = shards[2]!
  driver = {
    ...memory,
    shards: shards.slice(0, 2),
    shardAt: (address) => shards.find(({ name }) => name === address) ?? spare,
  }
  time = leapingTime()
  stores = []
  store = await openOn(driver)
})
afterEach(async () => {
  for (const each of stores) await each.close()
  await memory.close()
})

async function openOn(given: Driver): Promise<DataStore> {
  const opened = await DataStore.open({
    shards: keepOpen(given),
    indexes: [byName],
    migrate: true,
    time,
    onWarning: () => {},
  })
  stores.push(opened)
  return opened
}

const openWith = (plan: FaultPlan): Promise<DataStore> => openOn(faultyDriver(driver, plan))

/** Returns the state of shard 2 in the layout that a call writes; undefined for all other calls. */
function stateBy(operation: string, args: readonly unknown[]): string | undefined {
  const { layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
  const shard = layout?.shards[2]
  return shard && (shard.state ?? 'serving')
}

/** Ends the lease of the process that adds a shard, which sleeps. */
async function endLease(): Promise<void> {
  const { tasks } = memory.shards[0]!
  const { owner, progress } = (await tasks.load('catalog'))!
  await tasks.save('catalog', owner!, progress, 0)
}

test('an add that waited for another one leaves the shard as it is by then, with buckets that have moved there', async () => {
  let isAdded = false
  const waiting = await openWith(({ operation, args: [task] }): Fault | undefined => {
    if (operation !== 'claim' || task !== 'catalog' || isAdded) return undefined
    isAdded = true
    return {
      async before() {
        await store.shards.add('memory 2')
        await store.shards.move({ from: 0, to: 2, buckets: '0-9' })
        before = await loadShardCatalog(memory.shards[0]!)
      },
    }
  })
  let before: ShardCatalog | undefined
  expect(await waiting.shards.add('memory 2')).toMatchObject({ number: 2, added: false })
  expect((await loadShardCatalog(spare))!.serves!.owns).toBe('0-9')
  expect(await loadShardCatalog(memory.shards[0]!)).toEqual(before)
})

test('a shard is added again without the lease of changes of the catalog', async () => {
  await store.shards.add('memory 2')
  expect(store.context.catalog.current().layout!.shards[2]).toEqual({ name: 'memory 2', buckets: '' })
  expect(await loadShardCatalog(spare)).toMatchObject({ shardNumber: 2, shardCount: 3 })
  await memory.shards[0]!.tasks.claim('catalog', 'other', 60_000)
  const { slept } = time
  expect(await store.shards.add('memory 2')).toMatchObject({ added: false })
  expect(time.slept).toBe(slept)
})

test('a shard gets the next number if another one has joined since the lease of its process has ended', async () => {
  let isTaken = false
  const adding = await openWith(({ operation, args }): Fault | undefined => {
    if (stateBy(operation, args) !== 'joining' || isTaken) return undefined
    isTaken = true
    return {
      async before() {
        await endLease()
        await store.shards.add('memory 3')
      },
    }
  })
  expect(await adding.shards.add('memory 2')).toMatchObject({ number: 3, added: true })
  const { shardNumber, layout } = (await loadShardCatalog(spare))!
  expect(shardNumber).toBe(3)
  expect(layout!.shards.slice(2)).toEqual([
    { name: 'memory 3', buckets: '' },
    { name: 'memory 2', buckets: '' },
  ])
})

test('a shard that has not finished to join stays so when another one joins', async () => {
  const died = new LooseleafError('CLOSED', 'The process has died.')
  const dying = await openWith(({ operation, args }) =>
    stateBy(operation, args) === 'serving' ? { before: () => Promise.reject(died) } : undefined,
  )
  await expect(dying.shards.add('memory 3')).rejects.toEqual(died)
  const other = await openOn(driver)
  expect(await other.shards.add('memory 2')).toMatchObject({ number: 3, added: true })
  expect((await other.shards.list()).map(({ state }) => state)).toEqual([
    'serving',
    'serving',
    'joining',
    'serving',
  ])
})

test.each(['joining', 'serving'])(
  'a shard is %s when it has the table of an index that was added meanwhile',
  async (state) => {
    let isAdded = false
    const tables: (number | undefined)[] = []
    const countRows = async (): Promise<number | undefined> => {
      const { layout, indexes } = (await loadShardCatalog(memory.shards[0]!))!
      const shard = layout!.shards[2]
      if (shard === undefined || (shard.state ?? 'serving') !== state) return undefined
      const entry = indexes.find(({ name }) => name === byRank.name)!
      return spare.index(tableSpec(entry)).count({ prefix: [] })
    }
    const adding = await openWith(({ shard, operation, args }): Fault | undefined => {
      if (shard !== 0 || stateBy(operation, args) !== state) return undefined
      const isFirst = !isAdded
      isAdded = true
      return {
        // A process that has read the catalog before this shard was in it adds no table there.
        before: async () => void (isFirst && (await addUnknown(state))),
        after: async () => void tables.push(await countRows()),
      }
    })
    expect(await adding.shards.add('memory 2')).toMatchObject({ number: 2, added: true })
    expect(tables).toContain(0)
  },
)

/** Adds an index whose table no shard has but the first two. */
async function addUnknown(state: string): Promise<void> {
  if (state === 'joining') {
    await endLease()
    await store.addIndex(byRank)
    return
  }
  const { indexes } = (await loadShardCatalog(memory.shards[0]!))!
  const entry = { ...indexes[0]!, name: byRank.name, table: 'index_by_rank_2' }
  for (const shard of driver.shards) await shard.createIndexTable(tableSpec(entry))
  await changeCatalogContents(driver, (contents) => ({ ...contents, indexes: [...contents.indexes, entry] }))
}

test.each(['add', 'flush'])('a database that cannot %s codec entries gets no catalog', async (failing) => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, definitions: true }))
  await memory.shards[0]!.codecEntries.add([{ id: 'one', kind: 'shape', bytes: Buffer.from('one') }])
  const full = new LooseleafError('SHARD_FULL', 'The disk is full.', { shard: 'memory 2' })
  const adding = await openWith(({ shard, operation }) =>
    shard === 2 && operation === failing ? { before: () => Promise.reject(full) } : undefined,
  )
  await expect(adding.shards.add('memory 2')).rejects.toEqual(full)
  expect(await loadShardCatalog(spare)).toBeUndefined()
})

test('an add rejects after fifty attempts whose catalog is not on the shard', async () => {
  let inits = 0
  const catalog = {
    ...spare.catalog,
    load: () => Promise.resolve(undefined),
    async init() {
      inits++
      return true
    },
  } as Shard['catalog']
  const losing = await openOn({ ...driver, shardAt: () => ({ ...spare, catalog }) })
  await expect(losing.shards.add('memory 2')).rejects.toMatchObject({
    code: 'CONFLICT',
    shard: 'memory 2',
    message: 'Other processes changed the catalog 50 times in a row. Add memory 2 again when they are done.',
  })
  expect(inits).toBe(50)
})
