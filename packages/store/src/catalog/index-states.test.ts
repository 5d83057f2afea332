import type { DriverFactory, Time } from '@looseleaf/core'
import type { CatalogEntry, IndexState, IndexTableSpec } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultPlan, type FaultyCall } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

// Administrators change indexes that other processes have changed.

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byLinkAndTime = defineIndex('by_link', {
  properties: { link: 'string', time: 'time' },
  shardOn: 'link',
})
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

let driver: ReferenceDriver
/** Milliseconds. Sleeps end at once, and move the clock by their length. */
let now: number
let plan: FaultPlan

const time: Time = {
  now: () => now,
  async sleep(milliseconds) {
    now += milliseconds
    await new Promise((resolve) => setImmediate(resolve))
  },
}

beforeEach(() => {
  now = 1_800_000_000_000
  plan = () => undefined
  driver = createReferenceDriver({ shards: 2, now: () => now * 1000 })
})

/** Opens a store as another process, with the faults of `plan` if asked to. */
function open(indexes: (typeof byLink | typeof byRank)[] = [], isFaulty = false): Promise<DataStore> {
  const used = isFaulty ? faultyDriver(driver, (call) => plan(call)) : driver
  const shards: DriverFactory = { shardCount: 2, connect: async () => used }
  return DataStore.open({ shards, indexes, migrate: true, time })
}

const stored = (): readonly CatalogEntry[] => driver.shards[0]!.contents()!.indexes
const states = (): string[] => stored().map(({ table, state }) => `${table} ${state}`)

async function change(table: string, state: IndexState): Promise<void> {
  await changeCatalog(driver, (indexes) =>
    indexes.map((entry) => (entry.table === table ? { ...entry, state } : entry)),
  )
}

function isDropOf(table: string, { operation, args }: FaultyCall): boolean {
  return operation === 'dropIndexTable' && (args[0] as IndexTableSpec).table === table
}

/** Tells for each shard whether it has the table. */
async function hasTable(entry: CatalogEntry): Promise<boolean[]> {
  const looks = driver.shards.map((shard) =>
    shard
      .index(tableSpec(entry))
      .count({ prefix: [] })
      .then(
        () => true,
        () => false,
      ),
  )
  return Promise.all(looks)
}

describe('adding', () => {
  it('adding an index that is retiring makes its next generation', async () => {
    const store = await open([byLink])
    await change('index_by_link', 'retiring')
    await store.addIndex(byLink)
    expect(states()).toEqual(['index_by_link retiring', 'index_by_link_2 building'])
    await store.addIndex(byLink)
    expect(states()).toEqual(['index_by_link retiring', 'index_by_link_2 building'])
  })

  it('adding an index that was dropped makes its next generation', async () => {
    const store = await open([byLink])
    expect(await store.dropIndex('by_link')).toBe(true)
    await store.addIndex(byLink)
    expect(states()).toEqual(['index_by_link dropped', 'index_by_link_2 building'])
  })

  it('adding an index with another onMisfit changes only that index', async () => {
    const store = await open([byLink, byRank])
    await store.addIndex(
      defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link', onMisfit: 'skip' }),
    )
    expect(
      stored()
        .map(({ name, onMisfit }) => `${name} ${onMisfit}`)
        .toSorted(),
    ).toEqual(['by_link skip', 'by_rank refuse'])
    expect(
      store.context.catalog
        .current()
        .indexes.map(({ onMisfit }) => onMisfit)
        .toSorted(),
    ).toEqual(['refuse', 'skip'])
  })

  it('adding an index that another process adds after the lease has expired leaves no table', async () => {
    const store = await open([], true)
    let others: DataStore | undefined
    plan = ({ table, operation, shard, args }) => {
      const isToComeIntoUse =
        table === 'catalog' &&
        operation === 'change' &&
        shard === 0 &&
        (args[0] as { indexes: readonly CatalogEntry[] }).indexes.some(({ state }) => state === 'building')
      if (!isToComeIntoUse || others !== undefined) return undefined
      return {
        async before() {
          now += 3_600_000
          others = await open()
          await others.addIndex(byLink)
        },
      }
    }
    await store.addIndex(byLink)
    expect(states()).toEqual(['index_by_link dropped', 'index_by_link_2 building'])
    const [unused, used] = stored()
    expect([await hasTable(unused!), await hasTable(used!)]).toEqual([
      [false, false],
      [true, true],
    ])
    // A second definition with the name comes into use beside the first.
    await store.addIndex(byLinkAndTime)
    expect(states().at(-1)).toBe('index_by_link_3 building')
  })

  it('adding an index that ends in a crash reserves its table name for ever', async () => {
    const store = await open([], true)
    plan = ({ operation }) =>
      operation === 'createIndexTable' ? { before: () => Promise.reject(new Error('died')) } : undefined
    await expect(store.addIndex(byLink)).rejects.toThrow('died')
    plan = () => undefined
    now += 3_600_000
    await (await open()).addIndex(byLink)
    expect(states()).toEqual(['index_by_link dropped', 'index_by_link_2 building'])
  })
})

describe('dropping', () => {
  it('dropping by name drops every generation, and by definition one', async () => {
    const store = await open([byLink, byRank])
    await store.addIndex(byLinkAndTime)
    expect(await store.dropIndex(byLink)).toBe(true)
    expect(states().toSorted()).toEqual([
      'index_by_link dropped',
      'index_by_link_2 building',
      'index_by_rank ready',
    ])
    expect(await store.dropIndex(byLink)).toBe(false)
    await store.addIndex(byLink)
    expect(await store.dropIndex('by_link')).toBe(true)
    expect(states().toSorted()).toEqual([
      'index_by_link dropped',
      'index_by_link_2 dropped',
      'index_by_link_3 dropped',
      'index_by_rank ready',
    ])
    for (const entry of stored())
      expect(await hasTable(entry)).toEqual(entry.name === 'by_rank' ? [true, true] : [false, false])
    expect(await store.dropIndex('by_link')).toBe(false)
  })

  it('dropping an index drops its tables while it is retiring', async () => {
    const store = await open([byLink], true)
    const when: string[][] = []
    plan = (call) =>
      isDropOf('index_by_link', call) ? { before: () => void when.push(states()) } : undefined
    await store.dropIndex('by_link')
    expect(when).toEqual([['index_by_link retiring'], ['index_by_link retiring']])
    expect(states()).toEqual(['index_by_link dropped'])
    expect(store.context.catalog.current().indexes).toEqual([])
  })

  it('a query of a retiring index says that it is being dropped', async () => {
    const store = await open([byLink])
    await change('index_by_link', 'retiring')
    await store.context.catalog.reload()
    await expect(store.query(byLink, { link: 'a' })).rejects.toMatchObject({
      code: 'INDEX_NOT_FOUND',
      message: 'Index by_link is being dropped.',
    })
  })

  it('dropping an index continues the drop of another process', async () => {
    const store = await open([byLink])
    await change('index_by_link', 'retiring')
    expect(await store.dropIndex('by_link')).toBe(true)
    expect(states()).toEqual(['index_by_link dropped'])
  })

  it('dropping an index does not touch a new generation that another process has added meanwhile', async () => {
    const store = await open([byLink], true)
    let others: Promise<void> | undefined
    const dropAndAdd = async (): Promise<void> => {
      now += 3_600_000
      const other = await open()
      await other.dropIndex('by_link')
      await other.addIndex(byLink)
    }
    plan = (call) =>
      isDropOf('index_by_link', call) ? { before: () => (others ??= dropAndAdd()) } : undefined
    await store.dropIndex('by_link')
    expect(states()).toEqual(['index_by_link dropped', 'index_by_link_2 building'])
  })
})

describe('an index with a missing table', () => {
  it('open replaces an index with a missing table, and finishes the drop of a retiring one', async () => {
    await open([byLink, byRank])
    await change('index_by_rank', 'retiring')
    for (const entry of stored()) await driver.shards[1]!.dropIndexTable(tableSpec(entry))
    const store = await open()
    expect(states().toSorted()).toEqual([
      'index_by_link dropped',
      'index_by_link_2 building',
      'index_by_rank dropped',
    ])
    for (const entry of stored())
      expect(await hasTable(entry)).toEqual(entry.state === 'building' ? [true, true] : [false, false])
    expect(store.context.catalog.current().indexes).toMatchObject([{ table: 'index_by_link_2' }])
  })

  it('an index with a missing table is replaced once by two processes', async () => {
    await open([byLink])
    await driver.shards[0]!.dropIndexTable(tableSpec(stored()[0]!))
    let others: Promise<DataStore> | undefined
    plan = ({ table, operation }) =>
      table === 'tasks' && operation === 'claim' && others === undefined
        ? { before: async () => void (await (others = open())) }
        : undefined
    await open([], true)
    expect(others).toBeDefined()
    expect(states()).toEqual(['index_by_link dropped', 'index_by_link_2 building'])
  })
})
