import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, tableName } from '@looseleaf/index-engine'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

/*
 * An entity that matches all the time moves, while a query is under way, from a place that the query has not read yet to
 * one that it has. Its old row has to lead to it for as long as that query may run.
 */

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const table = tableName(byName, 1)
const everybody = { name: { gte: 'a', lt: 'z' } }

/** Names between which everybody is, on shard 0 and on shard 1 of two. */
interface Names {
  readonly on0: string
  readonly on1: string
}

let memory: Driver | undefined
const opened: DataStore[] = []

async function open(
  plan: FaultPlan = () => undefined,
  options: { readonly migrate?: boolean; readonly queryTimeMs?: number } = {},
): Promise<DataStore> {
  const driver = faultyDriver(memory as Driver, plan)
  const store = await DataStore.open({ shards: keepOpen(driver), indexes: [byName], ...options })
  opened.push(store)
  return store
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await memory?.close()
})

/** What every way of reading by an index says of who is there; the sorted ids, or how many they are. */
const ways = {
  async query(store: DataStore): Promise<readonly EntityId[]> {
    const { items, cost } = await store.query(byName, everybody, { scatter: true, limit: 1 })
    expect(cost.complete).toBe(true)
    return items.map(({ id }) => id)
  },
  async getAll(store: DataStore): Promise<readonly EntityId[]> {
    return (await store.getAll(byName, everybody, { scatter: true })).map(({ id }) => id)
  },
  async count(store: DataStore): Promise<number> {
    return store.count(byName, everybody, { scatter: true, exact: true })
  },
}
const namesOfWays = Object.keys(ways) as (keyof typeof ways)[]

/** A reader whose scan of a shard is held up, the first one or a later one of the same call. */
async function heldUpReader(
  shard: number,
  scan: number,
): Promise<{ reader: DataStore; reached: Promise<void>; goOn(): void }> {
  const reached = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  const reader = await open((call) => {
    if (call.operation !== 'scan' || call.shard !== shard || call.number !== scan) return undefined
    return {
      before() {
        reached.resolve()
        return goesOn.promise
      },
    }
  })
  return { reader, reached: reached.promise, goOn: goesOn.resolve }
}

/** Far longer than any call here, on any machine. */
const ENOUGH_MS = 60_000
/** Long enough for what a writer does at once behind its commit. */
const AT_ONCE_MS = 100

async function move(writer: DataStore, id: EntityId, name: string): Promise<void> {
  await writer.put({ name }, { id })
  const soon = new Promise((resolve) => setTimeout(resolve, AT_ONCE_MS))
  await Promise.race([writer.settled(), soon])
}

/** A store of two shards, and names with their rows on each. */
async function makeStore(queryTimeMs = ENOUGH_MS): Promise<{
  readonly writer: DataStore
  readonly names: Names
}> {
  memory = await memoryShards(2).connect()
  const writer = await open(undefined, { migrate: true, queryTimeMs })
  const candidates = Array.from({ length: 100 }, (_, n) => `name ${n}`)
  const on = (shard: number): string => {
    const name = candidates.find((each) => writer.context.router.shardOfKey(Buffer.from(each)) === shard)
    if (name === undefined) throw new Error(`No name has its rows on shard ${shard}.`)
    return name
  }
  return { writer, names: { on0: on(0), on1: on(1) } }
}

describe('an entity that moves to a shard that was read, from one that was not', () => {
  it.each(namesOfWays)('is found by %s', async (way) => {
    const { writer, names } = await makeStore()
    const { id } = await writer.put({ name: names.on1 })
    const { reader, reached, goOn } = await heldUpReader(1, 1)
    const reading = ways[way](reader)
    await reached
    await move(writer, id, names.on0)
    goOn()
    expect(await reading).toEqual(way === 'count' ? 1 : [id])
  })

  it('is found when it moves there and back again', async () => {
    const { writer, names } = await makeStore()
    const { id } = await writer.put({ name: names.on1 })
    const { reader, reached, goOn } = await heldUpReader(1, 1)
    const reading = ways.getAll(reader)
    await reached
    await move(writer, id, names.on0)
    await move(writer, id, names.on1)
    await move(writer, id, names.on0)
    goOn()
    expect(await reading).toEqual([id])
  })
})

/** As many as the first scan of a call reads, which has a row more than its page. */
const FIRST_SCAN = { query: 2, getAll: 1_001, count: 1_001 }
const ROWS_PER_WRITE = 500

describe('an entity that moves backwards on one shard, past rows of writers that died', () => {
  it.each(namesOfWays)('is found by %s', async (way) => {
    memory = await memoryShards(1).connect()
    const writer = await open(undefined, { migrate: true, queryTimeMs: ENOUGH_MS })
    await leaveRows(writer, FIRST_SCAN[way])
    const { id } = await writer.put({ name: 'm' })
    const { reader, reached, goOn } = await heldUpReader(0, 2)
    const reading = ways[way](reader)
    await reached
    await move(writer, id, 'a')
    goOn()
    expect(await reading).toEqual(way === 'count' ? 1 : [id])
  })
})

/** Of writers that died before they committed their entities, between `a` and `m`. */
async function leaveRows(store: DataStore, count: number): Promise<void> {
  const rows = Array.from({ length: count }, () => ({
    key: [Buffer.from('dead')],
    entityId: parseId(store.newId()),
    version: 1,
  }))
  const index = store.context.driver.shards[0]?.index({
    table,
    columns: [{ name: 'name', type: 'string' }],
  })
  for (let from = 0; from < count; from += ROWS_PER_WRITE) {
    await index?.upsert(rows.slice(from, from + ROWS_PER_WRITE))
  }
}

/** Shorter than a scan is held up. */
const QUERY_TIME_MS = 100
const HELD_UP_MS = 300

describe('a call that takes longer than the queries of its store may', () => {
  /** Reads while a scan is held up for too long, in a process that was not told for how long that is. */
  async function readSlowly<T>(read: (reader: DataStore) => Promise<T>): Promise<T> {
    const { writer, names } = await makeStore(QUERY_TIME_MS)
    await writer.put({ name: names.on1 })
    const { reader, reached, goOn } = await heldUpReader(1, 1)
    const reading = read(reader)
    await reached
    setTimeout(goOn, HELD_UP_MS)
    return reading
  }

  it('says that its page is not complete', async () => {
    const page = await readSlowly((reader) => reader.query(byName, everybody, { scatter: true }))
    expect(page.cost.complete).toBe(false)
  })

  it('is refused where its answer has to be whole', async () => {
    const late = { code: 'DEADLINE' }
    await expect(
      readSlowly((reader) => reader.getAll(byName, everybody, { scatter: true })),
    ).rejects.toMatchObject(late)
    await expect(
      readSlowly((reader) => reader.count(byName, everybody, { scatter: true, exact: true })),
    ).rejects.toMatchObject(late)
  })
})
