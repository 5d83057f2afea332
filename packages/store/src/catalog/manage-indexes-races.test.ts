import type { Driver, IndexState } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalog, defineIndex, hasIndexTable } from '@looseleaf/index-engine'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { addIndexes } from './manage-indexes.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

// What other processes do to the indexes while one changes them, and changes that others have made already.

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

/** A process of its own on the same shards, whose calls are under the plan. */
async function open(migrate = false): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => plan(call))
  return DataStore.open({ shards: keepOpen(driver), indexes: [byLink, byRank], migrate })
}

/** What the shards say of the indexes, those that are dropped too. */
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

/** Another process puts an index of this table into a state. */
async function setState(table: string, state: IndexState): Promise<void> {
  await changeCatalog(memory, (indexes) =>
    indexes.map((entry) => (entry.table === table ? { ...entry, state } : entry)),
  )
}

async function lose(table: string): Promise<void> {
  for (const shard of memory.shards) await shard.dropIndexTable({ table, columns: [] })
}

const isThere = (table: string): Promise<boolean[]> =>
  Promise.all(
    memory.shards.map((shard) => hasIndexTable(shard, { ...byLink, generation: 1, table, state: 'ready' })),
  )

/** Runs before the change of shard 0's catalog with this number, counted from 1 from now on. */
function beforeChange(number: number, work: () => Promise<void>): void {
  let changes = 0
  plan = ({ shard, operation }) =>
    shard === 0 && operation === 'change' && ++changes === number ? { before: work } : undefined
}

/** Another process has added the same index, as it thought that this one was dead. */
async function addElsewhere(): Promise<void> {
  const entry = { ...byLink, generation: 9, table: 'index_by_link_9', state: 'building' as const }
  for (const shard of memory.shards)
    await shard.createIndexTable({ table: entry.table, columns: [] }).catch(() => {})
  await changeCatalog(memory, (indexes) => [...indexes, entry])
}

/** Statements that drop a table of this name take their time. */
function slowDrop(table: string): void {
  const before = plan
  plan = (call) =>
    call.operation === 'dropIndexTable' && (call.args[0] as { table: string }).table === table
      ? { before: () => new Promise((resolve) => setTimeout(resolve, 50)) }
      : before(call)
}

describe('what others have done already', () => {
  it('is known to whoever finds that nothing is left to do', async () => {
    const store = await open(true)
    const [adding, dropping] = [await open(), await open()]
    await store.dropIndex('by_rank')
    await adding.addIndex(byLink)
    expect(adding.context.catalog.current().indexes).toHaveLength(1)
    expect(await dropping.dropIndex('by_rank')).toBe(false)
    expect(dropping.context.catalog.current().indexes).toHaveLength(1)
  })

  it('is not done again: an index with a lost table begins anew once', async () => {
    const [one, other] = [await open(true), await open()]
    await lose('index_by_link')
    await replaceLostIndexes(one.context)
    const before = await epochs()
    await replaceLostIndexes(other.context)
    expect(await epochs()).toEqual(before)
    expect(await stored()).toEqual(both('1 dropped', '2 building'))
  })

  it('takes no turn of those who change indexes where no table is lost', async () => {
    const { context } = await open(true)
    let claims = 0
    plan = ({ operation }) => {
      if (operation === 'claim') claims++
      return undefined
    }
    await replaceLostIndexes(context)
    expect(claims).toBe(0)
  })

  it('takes no word to the shards where they have all definitions', async () => {
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

describe('definitions that are to be there', () => {
  it('take effect where only onMisfit is another', async () => {
    const { context } = await open(true)
    await addIndexes(context, [{ ...byLink, onMisfit: 'skip' }])
    expect(context.catalog.current().indexes.find(({ name }) => name === 'by_link')).toMatchObject({
      generation: 1,
      onMisfit: 'skip',
    })
  })

  it('begin anew where the index that has them is on its way out', async () => {
    const { context } = await open(true)
    await setState('index_by_link', 'retiring')
    await addIndexes(context, [byLink])
    expect(await stored()).toEqual(both('1 retiring', '2 building'))
  })
})

describe('an index that another process adds meanwhile', () => {
  it('is left alone by one that adds it, whose tables are gone when it is done', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, addElsewhere)
    slowDrop('index_by_link_2')
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped', '9 building'))
    expect(await isThere('index_by_link_2')).toEqual([false, false])
  })

  it('is left alone by one that begins it anew, whose tables are gone when it is done', async () => {
    const { context } = await open(true)
    await lose('index_by_link')
    beforeChange(2, addElsewhere)
    slowDrop('index_by_link_2')
    await replaceLostIndexes(context)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped', '9 building'))
    expect(await isThere('index_by_link_2')).toEqual([false, false])
  })

  it('stays ready, where it has brought this very one into use', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, () => setState('index_by_link_2', 'ready'))
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 ready'))
  })
})

it('an index comes into use when its table is there on every shard', async () => {
  const store = await open(true)
  await store.dropIndex('by_link')
  const seen: boolean[][] = []
  beforeChange(2, async () => void seen.push(await isThere('index_by_link_2')))
  const change = plan
  plan = (call) =>
    call.shard === 1 && call.operation === 'createIndexTable'
      ? { before: () => new Promise((resolve) => setTimeout(resolve, 50)) }
      : change(call)
  await store.addIndex(byLink)
  expect(seen).toEqual([[true, true]])
})

describe('an index that another process drops meanwhile', () => {
  it('does not come back while it is added', async () => {
    const store = await open(true)
    await store.dropIndex('by_link')
    beforeChange(2, () => setState('index_by_link_2', 'retiring'))
    await store.addIndex(byLink)
    expect(await stored()).toEqual(both('1 dropped', '2 retiring'))
  })

  it('stays dropped while this one drops it', async () => {
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

  it('does not come back when it was just begun anew', async () => {
    const { context } = await open(true)
    await lose('index_by_link')
    beforeChange(3, () => setState('index_by_link_2', 'dropped'))
    await replaceLostIndexes(context)
    expect(await stored()).toEqual(both('1 dropped', '2 dropped'))
    expect(await isThere('index_by_link_2')).toEqual([false, false])
  })
})

it('an index on its way out that has lost a table goes, and takes no new name', async () => {
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
  // To `retiring`, then to `dropped`.
  expect(changes).toBe(2)
})

it('two indexes that begin anew both come, although a shard has forgotten the name of one of them', async () => {
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
