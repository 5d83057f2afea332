import { isLooseleafError, type Driver } from '@looseleaf/core'
import type { IndexTableSpec, ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { indexesWithMissingTables } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultyDriver, keepOpen } from '@looseleaf/testkit'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const LINKS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

let memory: Driver
beforeEach(async () => {
  memory = await memoryShards(2).connect()
})
afterEach(async () => {
  await memory.close()
})

/** Opens a store on the same shards, as another process. */
async function open(options: { migrate?: boolean; driver?: Driver } = {}): Promise<DataStore> {
  const driver = options.driver ?? memory
  return DataStore.open({
    shards: keepOpen(driver),
    indexes: [byLink, byRank],
    migrate: options.migrate ?? false,
  })
}

async function openWithEntities(): Promise<DataStore> {
  const store = await open({ migrate: true })
  for (const link of LINKS) await store.put({ link, rank: 1 })
  return store
}

/** The spec of a table, as far as dropping it needs. */
const named = (table: string): IndexTableSpec => ({ table, columns: [] })

async function lose(table: string, shards: readonly number[] = [0, 1]): Promise<void> {
  for (const shard of shards) await memory.shards[shard]!.dropIndexTable(named(table))
}

const states = async (store: DataStore): Promise<string[]> =>
  (await store.indexes()).map(({ table, state }) => `${table} ${state}`).toSorted()

describe.each([
  ['one shard', [1]],
  ['every shard', [0, 1]],
])('an index whose table is missing on %s', (_, shards) => {
  it('queries of an index with a missing table reject with the way to repair it', async () => {
    const store = await openWithEntities()
    await lose('index_by_link', shards)
    const all = store.getAll(byLink, {}, { scatter: true })
    await expect(all).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
    await expect(all).rejects.toThrow(/looseleaf init/)
    await expect(store.count(byLink, {}, { scatter: true })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
  })

  it('migrate replaces an index with a missing table, and no process queries it until it is filled', async () => {
    const reader = await openWithEntities()
    const epoch = reader.context.catalog.current().epochs[0]!
    await lose('index_by_link', shards)
    const store = await open({ migrate: true })
    expect(await states(store)).toEqual(['index_by_link_2 building', 'index_by_rank ready'])
    for (const each of [store, reader]) {
      for (const link of LINKS) {
        await expect(each.query(byLink, { link })).rejects.toEqual(withCode('INDEX_NOT_READY'))
      }
      await expect(each.count(byLink, { link: 'a' })).rejects.toEqual(withCode('INDEX_NOT_READY'))
      expect(await each.getAll(byRank, { rank: 1 }, { scatter: true })).toHaveLength(LINKS.length)
    }
    const { epochs } = store.context.catalog.current()
    expect(new Set(epochs).size).toBe(1)
    expect(epochs[0]).toBeGreaterThan(epoch)
    expect(await states(await open({ migrate: true }))).toEqual([
      'index_by_link_2 building',
      'index_by_rank ready',
    ])
  })

  it('writes fail while an index in use has a missing table', async () => {
    const writer = await openWithEntities()
    await lose('index_by_link', shards)
    const writes = LINKS.map((link) => writer.put({ link, rank: 3 }))
    const refused = (await Promise.allSettled(writes)).flatMap((result) =>
      result.status === 'rejected' ? [result.reason] : [],
    )
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) expect(error).toEqual(withCode('INDEX_NOT_FOUND'))
    const written = await writer.getAll(byRank, { rank: 3 }, { scatter: true })
    expect(written).toHaveLength(LINKS.length - refused.length)
  })

  it('writes fail while an index being filled has a missing table', async () => {
    const writer = await openWithEntities()
    await lose('index_by_link', shards)
    await open({ migrate: true })
    await writer.put({ link: 'a', rank: 3 })
    await lose('index_by_link_2')
    await expect(writer.put({ link: 'b', rank: 3 })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
  })

  it('processes with an older catalog write the new generation of a replaced index', async () => {
    const writer = await openWithEntities()
    await lose('index_by_link', shards)
    const store = await open({ migrate: true })
    const { id } = await writer.put({ link: 'new', rank: 2 })
    const entry = store.context.catalog.current().indexes.find(({ name }) => name === 'by_link')!
    const spec = { table: entry.table, columns: [{ name: 'link', type: 'string' as const }] }
    const rows = await Promise.all(
      memory.shards.map((shard) => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 10 })),
    )
    expect(rows.flat().map((row) => Buffer.from(row.entityId).toString('hex'))).toEqual([
      id.replaceAll('-', ''),
    ])
  })

  it('no process takes an index with a missing table for an empty one while it is replaced', async () => {
    await openWithEntities()
    // A query makes its process read the catalog again, so each step has its own process.
    const readers = await Promise.all(Array.from({ length: 24 }, () => open()))
    await lose('index_by_link', shards)
    let moments = 0
    const look = async (): Promise<void> => {
      const reader = readers[moments++]
      if (reader === undefined) throw new Error('There are more moments than readers.')
      for (const link of LINKS) {
        try {
          const page = await reader.query(byLink, { link })
          expect(page.items.map((item) => item['link'])).toEqual([link])
        } catch (error) {
          if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) {
            expect(error).toEqual(withCode('INDEX_NOT_READY'))
          }
        }
      }
    }
    const driver = faultyDriver(memory, ({ table, operation }) =>
      operation === 'change' || (table === 'shard' && operation.endsWith('IndexTable'))
        ? { before: look, after: look }
        : undefined,
    )
    const store = await open({ migrate: true, driver })
    expect(moments).toBeGreaterThan(10)
    expect(await states(store)).toEqual(['index_by_link_2 building', 'index_by_rank ready'])
  })

  it('an index with a missing table is replaced once by concurrent processes', async () => {
    await openWithEntities()
    await lose('index_by_link', shards)
    const stores = await Promise.all(Array.from({ length: 4 }, () => open({ migrate: true })))
    for (const store of stores) {
      expect(await states(store)).toEqual(['index_by_link_2 building', 'index_by_rank ready'])
    }
  })

  it('an index with a missing table is replaced after a crash at any step', async () => {
    for (let step = 1, died = true; died; step++) {
      const driver = await memoryShards(2).connect()
      memory = driver
      await openWithEntities()
      await lose('index_by_link', shards)
      let steps = 0
      const dying: FaultyDriver = faultyDriver(driver, ({ table, operation }) =>
        (operation === 'change' || (table === 'shard' && operation.endsWith('IndexTable'))) &&
        ++steps === step
          ? { crash: 'after' }
          : undefined,
      )
      const opened = open({ migrate: true, driver: dying }).then(() => false)
      died = await Promise.race([opened, dying.crashed.then(() => true)])
      // Ends the lease of the dead process without waiting for it.
      await driver.shards[0]!.dropIndexTable(named('looseleaf_tasks'))
      const store = await open({ migrate: true })
      const found = await store.indexes()
      expect(found.filter(({ name }) => name === 'by_link')).toMatchObject([{ state: 'building' }])
      expect(
        await indexesWithMissingTables(driver, store.context.catalog.current().indexes),
        `step ${step}`,
      ).toEqual([])
      if (!died) expect(step).toBeGreaterThan(6)
    }
  })
})

describe('a store whose catalogs are lost', () => {
  it('migrate makes the indexes of a store with entities and without catalogs building', async () => {
    await openWithEntities()
    await lose('looseleaf_meta')
    await lose('index_by_link')
    const store = await open({ migrate: true })
    expect(await states(store)).toEqual(['index_by_link building', 'index_by_rank building'])
    await expect(store.query(byLink, { link: 'a' })).rejects.toEqual(withCode('INDEX_NOT_READY'))
  })
})

describe('a shard that was put back to a backup', () => {
  it('a restored first shard does not make an index ready that some writers do not know', async () => {
    const store = await open({ migrate: true })
    const [first, second] = memory.shards
    const before = (await first!.catalog.load())!
    await store.addIndex(defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' }))
    await store.dropIndex('by_rank')
    const after = (await second!.catalog.load())!
    expect(after.epoch).toBeGreaterThan(before.epoch)
    await first!.catalog.change(before, after.epoch)

    const next = await open()
    expect(next.context.catalog.current().epochs).toEqual([after.epoch, after.epoch])
    expect(await states(next)).toEqual(['index_by_link ready', 'index_by_size building'])
    await next.addIndex(byRank)
    expect((await second!.catalog.load())!.indexes.find(({ generation }) => generation === 2)).toMatchObject({
      table: 'index_by_rank_2',
      state: 'building',
    })
  })

  it('a restored shard never reuses a lost epoch, and accepts writes of a process that knew it', async () => {
    const store = await open({ migrate: true })
    const before = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
    const other = await open()
    await other.addIndex(defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' }))
    const lost = other.context.catalog.current().epochs
    for (const [shard, { catalog }] of memory.shards.entries()) {
      await catalog.change(before[shard]!, lost[shard]!)
    }
    // The lost epochs are greater than the current epochs of the shards.
    const { id } = await other.put({ link: 'a', rank: 1 })
    expect(await store.get(id)).toMatchObject({ link: 'a' })

    await store.addIndex(defineIndex('by_weight', { properties: { weight: 'integer' }, shardOn: 'id' }))
    const { epochs } = store.context.catalog.current()
    expect(epochs.every((epoch, shard) => epoch > lost[shard]!)).toBe(true)
  })

  it('a drop whose change a shard has lost does not drop tables of a ready index', async () => {
    const store = await openWithEntities()
    const statesWhenDropped: string[][] = []
    let forgotten = false
    const driver = faultyDriver(memory, ({ shard, table, operation, args }) => {
      if (operation === 'dropIndexTable' && (args[0] as IndexTableSpec).table === 'index_by_link') {
        return { before: async () => void statesWhenDropped.push(await states(await open())) }
      }
      if (shard !== 0 || table !== 'catalog' || operation !== 'change' || forgotten) return undefined
      forgotten = true
      const { catalog } = memory.shards[0]!
      let earlier: ShardCatalog | undefined
      return {
        before: async () => void (earlier = await catalog.load()),
        async after() {
          const { epoch } = (await catalog.load())!
          expect(await catalog.change({ ...earlier!, epoch: epoch + 1 }, epoch)).toBe(true)
        },
      }
    })
    const administrator = await open({ driver })
    expect(await administrator.dropIndex('by_link')).toBe(true)
    expect(forgotten).toBe(true)
    expect(statesWhenDropped.length).toBeGreaterThan(0)
    for (const found of statesWhenDropped) expect(found).not.toContain('index_by_link ready')
    expect(await states(await open())).toEqual(['index_by_rank ready'])
    await store.close()
  })
})
