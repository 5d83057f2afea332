import type { Driver } from '@looseleaf/core'
import type { IndexState } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, hasIndexTable } from '@looseleaf/index-engine/internal'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { addIndexes } from './manage-indexes.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

// Other processes change the indexes before or while a process changes them.

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

let memory: Driver
let plan: FaultPlan
beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
})
afterEach(async () => {
  await memory.close()
})

/** Opens a store on the same shards, as another process, with the faults of `plan`. */
async function open(migrate = false): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => plan(call))
  return DataStore.open({ shards: keepOpen(driver), indexes: [byLink, byRank], migrate })
}

/** Returns the states of an index's generations on each shard, dropped ones included. */
async function stored(name = 'by_link'): Promise<string[][]> {
  const catalogs = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
  return catalogs.map((catalog) =>
    catalog!.indexes
      .filter((entry) => entry.name === name)
      .map(({ generation, state }) => `${generation} ${state}`),
  )
}

const both = (...states: string[]): string[][] => [states, states]

async function epochs(): Promise<number[]> {
  return Promise.all(memory.shards.map(async ({ catalog }) => (await catalog.load())!.epoch))
}

/** Sets the state of an index as another process. */
async function setState(table: string, state: IndexState): Promise<void> {
  await changeCatalog(memory, (indexes) =>
    indexes.map((entry) => (entry.table === table ? { ...entry, state } : entry)),
  )
}

async function lose(table: string): Promise<void> {
  for (const shard of memory.shards) await shard.dropIndexTable({ table, columns: [] })
}

const hasTable = (table: string): Promise<boolean[]> =>
  Promise.all(
    memory.shards.map((shard) => hasIndexTable(shard, { ...byLink, generation: 1, table, state: 'ready' })),
  )

/** Runs `work` before the change of shard 0's catalog with this number, counted from 1. */
function beforeChange(number: number, work: () => Promise<void>): void {
  let changes = 0
  plan = ({ shard, operation }) =>
    shard === 0 && operation === 'change' && ++changes === number ? { before: work } : undefined
}

/** Adds the same index as another process that has taken over the lease. */
async function addElsewhere(): Promise<void> {
  const entry = { ...byLink, generation: 9, table: 'index_by_link_9', state: 'building' as const }
  for (const shard of memory.shards)
    await shard.createIndexTable({ table: entry.table, columns: [] }).catch(() => {})
  await changeCatalog(memory, (indexes) => [...indexes, entry])
}

/** Makes statements slow that drop this table. */
function slowDrop(table: string): void {
  const before = plan
  plan = (call) =>
    call.operation === 'dropIndexTable' && (call.args[0] as { table: string }).table === table
      ? { before: () => new Promise((resolve) => setTimeout(resolve, 50)) }
      : before(call)
}

describe('changes of other processes', () => {
  it('a call that finds nothing to do knows the changes of other processes', async () => {
    const store = await open(true)
    const [adding, dropping] = [await open(), await open()]
    await store.dropIndex('by_rank')
    await adding.addIndex(byLink)
    expect(adding.context.catalog.current().indexes).toHaveLength(1)
    expect(await dropping.dropIndex('by_rank')).toBe(false)
    expect(dropping.context.catalog.current().indexes).toHaveLength(1)
  })

  it('an index with a missing table that another process has replaced is not replaced again', async () => {
    const [one, other] = [await open(true), await open()]
    await lose('index_by_link')
    await replaceLostIndexes(one.context)
    const before = await epochs()
    await replaceLostIndexes(other.context)
    expect(await epochs()).toEqual(before)
    expect(await stored()).toEqual(both('1 dropped', '2 building'))
  })

  it('replacing indexes takes no lease if no table is missing', async () => {
    const { context } = await open(true)
    let claims = 0
    plan = ({ operation }) => {
      if (operation === 'claim') claims++
      return undefined
    }
    await replaceLostIndexes(context)
    expect(claims).toBe(0)
  })

  it('addIndexes only reads the catalog if the store has all definitions', async () => {
    const { context } = await open(true)
    const sent = new Set<string>()
    plan = ({ table, operation }) => {
      sent.add(`${table} ${operation}`)
      return undefined
    }
    await addIndexes(context, [byLink, byRank])
    expect([...sent]).toEqual(['catalog load'])
  })
})

describe('addIndexes', () => {
  it('addIndexes changes onMisfit of an existing index', async () => {
    const { context } = await open(true)
    await addIndexes(context, [{ ...byLink, onMisfit: 'skip' }])
    expect(context.catalog.current().indexes.find(({ name }) => name === 'by_link')).toMatchObject({
      generation: 1,
      onMisfit: 'skip',
    })
  })

  it('addIndexes makes a new generation of a retiring index', async () => {
    const { context } = await open(true)
    await setState('index_by_link', 'retiring')
    await addIndexes(context, [byLink])
    expect(await stored()).toEqual(both('1 retiring', '2 building'))
  })
})

describe('an index that another process adds meanwhile', () => {
  it('adding an index that another process adds meanwhile leaves that one, and drops its own tables', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, addElsewhere)
    slowDrop('index_by_link_2')
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped', '9 building'))
    expect(await hasTable('index_by_link_2')).toEqual([false, false])
  })

  it('replacing an index that another process adds meanwhile leaves that one, and drops its own tables', async () => {
    const { context } = await open(true)
    await lose('index_by_link')
    beforeChange(2, addElsewhere)
    slowDrop('index_by_link_2')
    await replaceLostIndexes(context)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped', '9 building'))
    expect(await hasTable('index_by_link_2')).toEqual([false, false])
  })

  it('an index that another process has made ready meanwhile stays ready', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, () => setState('index_by_link_2', 'ready'))
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 ready'))
  })
})

it('an index comes into use once its table is on every shard', async () => {
  const store = await open(true)
  await store.dropIndex('by_link')
  const seen: boolean[][] = []
  beforeChange(2, async () => void seen.push(await hasTable('index_by_link_2')))
  const change = plan
  plan = (call) =>
    call.shard === 1 && call.operation === 'createIndexTable'
      ? { before: () => new Promise((resolve) => setTimeout(resolve, 50)) }
      : change(call)
  await store.addIndex(byLink)
  expect(seen).toEqual([[true, true]])
})

describe('an index that another process drops meanwhile', () => {
  it('an index that another process drops while it is added stays retiring', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, () => setState('index_by_link_2', 'retiring'))
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 retiring'))
  })

  it('an index that another process has dropped stays dropped while this one drops it', async () => {
    const store = await open(true)
    beforeChange(1, () => setState('index_by_link', 'dropped'))
    const change = plan
    const seen: string[][][] = []
    plan = (call) =>
      call.operation === 'dropIndexTable' && (call.args[0] as { table: string }).table === 'index_by_link'
        ? { before: async () => void seen.push(await stored()) }
        : change(call)
    await store.dropIndex('by_link')
    expect(seen).toEqual([both('1 dropped'), both('1 dropped')])
  })

  it('an index that another process drops while it is replaced stays dropped', async () => {
    const { context } = await open(true)
    await lose('index_by_link')
    beforeChange(3, () => setState('index_by_link_2', 'dropped'))
    await replaceLostIndexes(context)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped'))
    expect(await hasTable('index_by_link_2')).toEqual([false, false])
  })
})

it('a retiring index with a missing table is dropped without a new generation', async () => {
  const { context } = await open(true)
  await setState('index_by_link', 'retiring')
  await context.catalog.reload()
  await lose('index_by_link')
  let changes = 0
  plan = ({ shard, operation }) => {
    if (shard === 0 && operation === 'change') changes++
    return undefined
  }
  await replaceLostIndexes(context)
  expect(await stored()).toEqual(both('1 dropped'))
  // One change to `retiring`, and one to `dropped`.
  expect(changes).toBe(2)
})

it('two replaced indexes both come into use although a shard has lost the reserved name of one', async () => {
  const { context } = await open(true)
  await lose('index_by_link')
  await lose('index_by_rank')
  const { catalog } = memory.shards[1]!
  let isForgotten = false
  plan = ({ shard, operation }) => {
    if (shard !== 1 || operation !== 'change' || isForgotten) return undefined
    isForgotten = true
    return {
      async after() {
        const current = (await catalog.load())!
        const indexes = current.indexes.filter(({ table }) => table !== 'index_by_rank_2')
        await catalog.change({ ...current, indexes, epoch: current.epoch + 1 }, current.epoch)
      },
    }
  }
  await replaceLostIndexes(context)
  expect(isForgotten).toBe(true)
  const states = context.catalog.current().indexes.map(({ name, state }) => `${name} ${state}`)
  expect(states.toSorted()).toEqual(['by_link building', 'by_rank building'])
})
