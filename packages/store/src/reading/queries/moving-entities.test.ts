import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableName } from '@looseleaf/index-engine/internal'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { DataStoreOptions } from '../../types.ts'

/*
 * 1. A query reads some places of an index, and an entity that matches is at a place that it has not read yet.
 * 2. The entity moves to a place that was read. It still matches.
 * 3. The query finds it only if its lost row stays for as long as the query may run.
 */

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const table = tableName(byName, 1)
const everybody = { name: { gte: 'a', lt: 'z' } }
/** Shorter than `HELD_UP_MS`, for which a scan waits. */
const QUERY_TIME_MS = 100
const HELD_UP_MS = 300

/** One name with its rows on shard 0, and one with its rows on shard 1. */
interface Names {
  readonly on0: string
  readonly on1: string
}

let memory: Driver | undefined
const opened: DataStore[] = []

async function open(
  plan: FaultPlan = () => undefined,
  options: Pick<DataStoreOptions, 'migrate' | 'queryTimeMs' | 'time'> = {},
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

/** The ways of reading by an index: each returns the ids, or their number. */
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

/** Lets an entity move to shard 0, and `queryTimeMs` pass, between the counts of shard 0 and of shard 1. */
function moving(
  { writer, id, to }: { readonly writer: DataStore; readonly id: EntityId; readonly to: string },
  time: ReturnType<typeof leapingTime>,
): (shard: number) => ReturnType<FaultPlan> {
  const isFirstCounted = Promise.withResolvers<void>()
  return (shard) => {
    if (shard === 0) return { after: isFirstCounted.resolve }
    return {
      async before() {
        await isFirstCounted.promise
        await writer.put({ name: to }, { id })
        await writer.settled()
        time.leap(QUERY_TIME_MS)
      },
    }
  }
}

/** Opens a reader whose scan of a shard with this number waits for `goOn`. */
async function heldUpReader(
  shard: number,
  scan: number,
): Promise<{ reader: DataStore; reached: Promise<void>; resume(): void }> {
  const reached = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  let scans = 0
  const reader = await open((call) => {
    const isScan = call.operation === 'scan' || call.operation === 'scanEntities'
    if (!isScan || call.shard !== shard || ++scans !== scan) return undefined
    return {
      before() {
        reached.resolve()
        return resumed.promise
      },
    }
  })
  return { reader, reached: reached.promise, resume: resumed.resolve }
}

/** A queryTimeMs longer than any call here, on any machine. */
const ENOUGH_MS = 60_000
/** Long enough for the deletes that a writer sends right after its commit. */
const AT_ONCE_MS = 100

async function move(writer: DataStore, id: EntityId, name: string): Promise<void> {
  await writer.put({ name }, { id })
  const soon = new Promise((resolve) => setTimeout(resolve, AT_ONCE_MS))
  await Promise.race([writer.settled(), soon])
}

/** Makes a store of two shards, and returns names with their rows on each. */
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

describe('an entity that moves to a shard that was read already', () => {
  it.each(namesOfWays)('an entity that moves to a shard that was read is found by %s', async (way) => {
    const { writer, names } = await makeStore()
    const { id } = await writer.put({ name: names.on1 })
    const { reader, reached, resume } = await heldUpReader(1, 1)
    const reading = ways[way](reader)
    await reached
    await move(writer, id, names.on0)
    resume()
    expect(await reading).toEqual(way === 'count' ? 1 : [id])
  })

  it('an entity that moves to a shard that was read and back is found', async () => {
    const { writer, names } = await makeStore()
    const { id } = await writer.put({ name: names.on1 })
    const { reader, reached, resume } = await heldUpReader(1, 1)
    const reading = ways.getAll(reader)
    await reached
    await move(writer, id, names.on0)
    await move(writer, id, names.on1)
    await move(writer, id, names.on0)
    resume()
    expect(await reading).toEqual([id])
  })
})

/** Rows that the first scan of a call reads: one more than its page. */
const FIRST_SCAN = { query: 2, getAll: 1_001, count: 1_001 }
const ROWS_PER_WRITE = 500

describe('an entity that moves backward on one shard, past rows of crashed writes', () => {
  it.each(namesOfWays)(
    'an entity that moves backward past rows of crashed writes is found by %s',
    async (way) => {
      memory = await memoryShards(1).connect()
      const writer = await open(undefined, { migrate: true, queryTimeMs: ENOUGH_MS })
      await leaveRows(writer, FIRST_SCAN[way])
      const { id } = await writer.put({ name: 'm' })
      const { reader, reached, resume } = await heldUpReader(0, 2)
      const reading = ways[way](reader)
      await reached
      await move(writer, id, 'a')
      resume()
      expect(await reading).toEqual(way === 'count' ? 1 : [id])
    },
  )
})

/** Adds rows of crashed writes between `a` and `m`. */
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

describe('a read that takes longer than queryTimeMs', () => {
  /** Reads while a scan waits for longer than queryTimeMs, in a process that opened without that option. */
  async function readSlowly<T>(read: (reader: DataStore) => Promise<T>): Promise<T> {
    const { writer, names } = await makeStore(QUERY_TIME_MS)
    await writer.put({ name: names.on1 })
    const { reader, reached, resume } = await heldUpReader(1, 1)
    const reading = read(reader)
    await reached
    setTimeout(resume, HELD_UP_MS)
    return reading
  }

  it('a page that takes longer than queryTimeMs is incomplete', async () => {
    const page = await readSlowly((reader) => reader.query(byName, everybody, { scatter: true }))
    expect(page.cost.complete).toBe(false)
  })

  it('a count that finds no row in longer than queryTimeMs checks the entities', async () => {
    const { writer, names } = await makeStore(QUERY_TIME_MS)
    const { id } = await writer.put({ name: names.on1 })
    const time = leapingTime()
    const between = moving({ writer, id, to: names.on0 }, time)
    let scans = 0
    const reader = await open(
      ({ shard, table: of, operation }) => {
        if (of !== table) return undefined
        if (operation === 'scan' && ++scans === 1) return { before: () => time.leap(QUERY_TIME_MS) }
        return operation === 'count' ? between(shard) : undefined
      },
      { time },
    )
    expect(await reader.count(byName, everybody, { scatter: true })).toBe(1)
  })

  it('a short count of rows that takes longer than queryTimeMs is followed by another', async () => {
    const { writer, names } = await makeStore(QUERY_TIME_MS)
    const { id } = await writer.put({ name: names.on1 })
    const time = leapingTime()
    const between = moving({ writer, id, to: names.on0 }, time)
    const reader = await open(
      ({ shard, operation }) => (operation === 'countShort' ? between(shard) : undefined),
      { time },
    )
    expect(await reader.count(byName, everybody, { scatter: true, exact: false })).toBe(1)
  })

  it('getAll and an exact count that take longer than queryTimeMs reject, and advise to read page by page', async () => {
    const late = {
      code: 'DEADLINE',
      message: `Index by_name: reading took longer than ${QUERY_TIME_MS} ms (queryTimeMs), so entities that have moved may be missing. Read page by page, each with the cursor of the page before.`,
    }
    await expect(
      readSlowly((reader) => reader.getAll(byName, everybody, { scatter: true })),
    ).rejects.toMatchObject(late)
    await expect(
      readSlowly((reader) => reader.count(byName, everybody, { scatter: true, exact: true })),
    ).rejects.toMatchObject(late)
  })
})
