import { parseId, type Driver, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createRowRemovals } from './row-removals.ts'
import type { DataStoreOptions } from '../types.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

let memory: Driver
/** Milliseconds. Only `pass` moves the clock. */
let now: number
let sleepers: { readonly until: number; readonly wake: () => void }[]

const time: Time = {
  now: () => now,
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      sleepers.push({ until: now + milliseconds, wake: resolve })
      signal?.addEventListener('abort', () => reject(new Error('aborted')))
    }),
}

/** Lets this many milliseconds pass, and then runs all pending work. */
async function pass(milliseconds: number): Promise<void> {
  now += milliseconds
  const due = sleepers.filter(({ until }) => until <= now)
  sleepers = sleepers.filter(({ until }) => until > now)
  for (const { wake } of due) wake()
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function open(options: Partial<DataStoreOptions> = {}, driver = memory): Promise<DataStore> {
  return DataStore.open({
    shards: keepOpen(driver),
    indexes: [byName, byTag],
    migrate: true,
    time,
    ...options,
  })
}

async function rowsOf(store: DataStore, name: string): Promise<number> {
  const entry = store.context.catalog.current().indexes.find((index) => index.name === name)!
  let rows = 0
  for (const shard of memory.shards) rows += await shard.index(tableSpec(entry)).count({ prefix: [] })
  return rows
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  now = Date.now()
  sleepers = []
})
afterEach(() => memory.close())

describe('a lost row', () => {
  it('a lost row of an entity that has moved stays for somewhat longer than a query may take', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'old' })
    await store.put({ name: 'new' }, { id })
    await pass(5_000)
    expect(await rowsOf(store, 'by_name')).toBe(2)
    await pass(600)
    expect(await rowsOf(store, 'by_name')).toBe(1)
    expect(await store.getAll(byName, { name: 'new' })).toHaveLength(1)
  })

  it('a lost row stays as long as the queryTimeMs of the store demands', async () => {
    const store = await open({ queryTimeMs: 60_000 })
    const { id } = await store.put({ name: 'old' })
    await store.put({ name: 'new' }, { id })
    await pass(60_000)
    expect(await rowsOf(store, 'by_name')).toBe(2)
    await pass(7_000)
    expect(await rowsOf(store, 'by_name')).toBe(1)
  })

  it.each([
    ['was deleted', (store: DataStore, id: string) => store.delete(id)],
    ['has lost the property', (store: DataStore, id: string) => store.put({ other: 1 }, { id })],
  ])('a lost row is deleted at once when the entity %s, because no query needs it', async (_, change) => {
    const store = await open()
    const { id } = await store.put({ name: 'old', tags: ['a', 'b'] })
    await change(store, id)
    await pass(0)
    expect(await rowsOf(store, 'by_name')).toBe(0)
    expect(await rowsOf(store, 'by_tag')).toBe(0)
  })

  it('a lost row stays when the entity keeps another row of the same index', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'same', tags: ['a', 'b'] })
    await store.put({ name: 'same', tags: ['b'] }, { id })
    await pass(0)
    expect(await rowsOf(store, 'by_tag')).toBe(1)
    const entry = store.context.catalog.current().indexes.find(({ name }) => name === 'by_tag')!
    const scans = memory.shards.map((shard) =>
      shard.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 9 }),
    )
    expect((await Promise.all(scans)).flat()).toHaveLength(2)
  })

  it('a lost row that the entity has gained again is not deleted', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'one' })
    await store.put({ name: 'two' }, { id })
    await pass(3_000)
    await store.put({ name: 'one' }, { id })
    await pass(3_000)
    expect(await store.getAll(byName, { name: 'one' })).toHaveLength(1)
    await pass(6_000)
    expect(await store.getAll(byName, { name: 'one' })).toHaveLength(1)
    expect(await rowsOf(store, 'by_name')).toBe(1)
  })

  it('a lost row stays if a failover has undone the commit and a cleaner has raised the epoch since', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'old' })
    const entityId = parseId(id)
    const number = store.context.router.shardOfId(entityId)
    const { catalog, entities } = memory.shards[number]!
    const [before] = await entities.read([entityId])
    const { version } = await store.put({ name: 'new' }, { id })
    const { epoch } = (await catalog.load())!
    expect(await entities.replace([{ ...before!, base: version }], { epoch })).toEqual([true])
    await changeCatalog(memory, (indexes) => indexes)
    await pass(6_000)
    expect(await store.getAll(byName, { name: 'old' })).toHaveLength(1)
  })

  it("a lost row stays if the epoch of the entity's shard cannot be read, with a warning", async () => {
    const warnings: string[] = []
    let isAway = false
    const store = await open(
      { onWarning: (message) => warnings.push(message) },
      faultyDriver(memory, ({ table, operation }) =>
        isAway && table === 'catalog' && operation === 'load'
          ? { before: () => Promise.reject(new Error('the shard is down')) }
          : undefined,
      ),
    )
    const { id } = await store.put({ name: 'old' })
    await store.put({ name: 'new' }, { id })
    isAway = true
    await pass(6_000)
    expect(await rowsOf(store, 'by_name')).toBe(2)
    expect(warnings).toEqual([expect.stringMatching(/left to the cleaner.*the shard is down/)])
  })

  it('close leaves lost rows to the cleaner without waiting', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'old' })
    await store.put({ name: 'new' }, { id })
    await store.close()
    await pass(10_000)
    expect(await rowsOf(store, 'by_name')).toBe(2)
  })

  it('settled waits until lost rows are deleted', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'old' })
    await store.put({ name: 'new' }, { id })
    let isSettled = false
    void store.settled().then(() => (isSettled = true))
    await pass(5_000)
    expect(isSettled).toBe(false)
    await pass(600)
    await pass(600)
    expect(isSettled).toBe(true)
    expect(await rowsOf(store, 'by_name')).toBe(1)
  })
})

describe('warnings of rows left to the cleaner', () => {
  it('too many kept rows make one warning until there is room again', async () => {
    const { context } = await open()
    const warnings: string[] = []
    const removals = createRowRemovals(context, { remove: async () => {} }, (message) =>
      warnings.push(message),
    )
    const [entry] = context.catalog.current().indexes
    const many = Array.from({ length: 40_000 }, () => ({ entry: entry!, key: [1n] }))
    const add = (): void =>
      removals.later(many, { entityId: Buffer.alloc(16), version: 1, shard: 0, epoch: 1 })
    for (let i = 0; i < 10; i++) add()
    expect(warnings).toEqual([expect.stringMatching(/^More than 100000 index rows/)])
    await pass(6_000)
    await pass(6_000)
    for (let i = 0; i < 10; i++) add()
    expect(warnings).toHaveLength(2)
    await removals.close()
  })

  it('failed deletes make one warning a minute', async () => {
    const warnings: string[] = []
    const store = await open(
      { onWarning: (message) => warnings.push(message) },
      faultyDriver(memory, ({ operation }) =>
        operation === 'remove' ? { before: () => Promise.reject(new Error('the shard is down')) } : undefined,
      ),
    )
    const deleteMany = async (): Promise<void> => {
      const puts = Array.from({ length: 20 }, () => store.put({ name: 'one' }))
      for (const { id } of await Promise.all(puts)) await store.delete(id)
      await store.settled()
    }
    await deleteMany()
    expect(warnings).toEqual([expect.stringContaining('left to the cleaner')])
    await deleteMany()
    expect(warnings).toHaveLength(1)
    now += 60_000
    await deleteMany()
    expect(warnings).toHaveLength(2)
  })
})

describe('a query that takes longer than queryTimeMs', () => {
  /** Returns a driver whose scans take this long. */
  const slow = (milliseconds: number): Driver =>
    faultyDriver(memory, ({ operation }) =>
      operation === 'scan' ? { before: () => void (now += milliseconds) } : undefined,
    )

  it('a query that takes longer than queryTimeMs returns complete: false', async () => {
    await (await open()).put({ name: 'one' })
    const quick = await open({}, slow(4_900))
    expect(await quick.query(byName, { name: 'one' })).toMatchObject({ cost: { complete: true } })
    const tooSlow = await open({}, slow(5_000))
    expect(await tooSlow.query(byName, { name: 'one' })).toMatchObject({
      items: [{ name: 'one' }],
      cost: { complete: false },
    })
  })

  it('a trace counts the pages of queries that take longer than queryTimeMs', async () => {
    const store = await open({}, slow(5_000))
    await store.put({ name: 'one' })
    const numbers = await store.trace(async (trace) => {
      await store.query(byName, { name: 'one' })
      return [trace.entitiesRead, trace.incompletePages]
    })
    expect(numbers).toEqual([1, 1])
  })

  it('getAll and exact counts reject after queryTimeMs', async () => {
    const store = await open({}, slow(5_000))
    await store.put({ name: 'one' })
    const error = { code: 'DEADLINE', message: expect.stringContaining('5000 ms') }
    await expect(store.getAll(byName, { name: 'one' })).rejects.toMatchObject(error)
    await expect(store.count(byName, { name: 'one' }, { exact: true })).rejects.toMatchObject(error)
    expect(await store.count(byName, { name: 'one' })).toBe(1)
  })
})

describe('queryTimeMs', () => {
  it('queryTimeMs is the same for every process of a store', async () => {
    const maker = await open({ queryTimeMs: 700 })
    const other = await open()
    for (const store of [maker, other]) expect(store.context.catalog.current().queryTimeMs).toBe(700)
    await open({ queryTimeMs: 700 })
    await expect(open({ queryTimeMs: 800 })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(/700.*800/),
    })
  })

  it('queryTimeMs is 5,000 for a store whose catalog has none', async () => {
    await open()
    for (const shard of memory.shards) {
      const { queryTimeMs: _, ...catalog } = (await shard.catalog.load())!
      await shard.catalog.change({ ...catalog, epoch: catalog.epoch + 1 }, catalog.epoch)
    }
    expect((await open()).context.catalog.current().queryTimeMs).toBe(5_000)
    await open({ queryTimeMs: 5_000 })
  })

  it('queryTimeMs survives a change of the catalog', async () => {
    const store = await open({ queryTimeMs: 700 })
    await store.addIndex(defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' }))
    for (const shard of memory.shards) expect((await shard.catalog.load())?.queryTimeMs).toBe(700)
  })

  it.each([0, -1, 1.5, Number.NaN, 600_001, '5s'])('a queryTimeMs of %s is rejected', async (queryTimeMs) => {
    await expect(open({ queryTimeMs: queryTimeMs as number })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('queryTimeMs'),
    })
  })
})
