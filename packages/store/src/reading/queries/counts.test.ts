import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableName } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byList = defineIndex('by_list', { properties: { list: 'string' }, shardOn: 'id' })
const table = tableName(byList, 1)
const scatter = true
const open = { list: 'open' }
const done = { list: 'done' }

let memory: Driver
let store: DataStore
/** Operations on the tables of entities. */
let operations: string[]

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  operations = []
  const driver = faultyDriver(memory, ({ table: of, operation }) => {
    // Looks belong to no count.
    if (of === 'entities' && operation !== 'floor') operations.push(operation)
    return undefined
  })
  store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [byList],
    migrate: true,
    queryTimeMs: 60_000,
  })
})

afterEach(async () => {
  await store.close()
  await memory.close()
})

const shardOf = (id: EntityId): number => store.context.router.shardOfId(parseId(id))

/** Adds rows of writes that crashed before their commit. */
async function leaveRows(list: string, ids: readonly EntityId[], version = 1): Promise<void> {
  const columns = [{ name: 'list', type: 'string' }] as const
  for (const [shard, own] of Map.groupBy(ids, shardOf)) {
    const rows = own.map((id) => ({ key: [Buffer.from(list)], entityId: parseId(id), version }))
    await memory.shards[shard]!.index({ table, columns }).upsert(rows)
  }
}

const putOpen = async (count: number): Promise<EntityId[]> =>
  (await store.putMany(Array.from({ length: count }, () => ({ list: 'open' })))).map((put) => {
    if (!('id' in put)) throw new Error('A put has failed.')
    return put.id
  })

/** Counts both lists by every call that counts. */
async function counts(): Promise<Record<string, readonly number[]>> {
  const pages = await store.queryMany(byList, [open, done], { scatter, limit: 1, count: true })
  return {
    count: await Promise.all([open, done].map((where) => store.count(byList, where, { scatter }))),
    countMany: await store.countMany(byList, [open, done], { scatter }),
    queryMany: pages.map(({ count }) => count),
  }
}

const all = (...numbers: number[]): Record<string, readonly number[]> => ({
  count: numbers,
  countMany: numbers,
  queryMany: numbers,
})

describe('up to 1,000', () => {
  it('a count leaves out entities that have just moved', async () => {
    const [first, second] = await putOpen(5)
    await store.put(done, { id: first! })
    await store.put({ list: 'other' }, { id: second! })
    expect(await counts()).toEqual(all(3, 1))
    expect(await store.countMany(byList, [open, done], { scatter, exact: false })).toEqual([5, 1])
  })

  it('a count has an entity once that has moved and come back', async () => {
    const [id] = await putOpen(2)
    await store.put(done, { id: id! })
    await store.put({ ...open, text: 'again' }, { id: id! })
    expect(await counts()).toEqual(all(2, 0))
  })

  it('a count leaves out rows of crashed writes, without a cleaner', async () => {
    const [id] = await putOpen(3)
    await leaveRows('done', [id!], Number.MAX_SAFE_INTEGER)
    await leaveRows(
      'done',
      Array.from({ length: 10 }, () => store.newId()),
    )
    expect(await counts()).toEqual(all(3, 0))
  })

  it('a count has an entity whose row a crashed write has stamped higher', async () => {
    const [id] = await putOpen(3)
    await leaveRows('open', [id!], Number.MAX_SAFE_INTEGER)
    expect(await counts()).toEqual(all(3, 0))
  })

  it('a count has entities that were written again without moving', async () => {
    const [id] = await putOpen(3)
    await store.put({ ...open, text: 'changed' }, { id: id! })
    await store.delete((await putOpen(1))[0]!)
    expect(await counts()).toEqual(all(3, 0))
  })

  it('a count reads bodies only of entities that were written after their rows', async () => {
    const ids = await putOpen(100)
    operations = []
    expect(await store.count(byList, open, { scatter })).toBe(100)
    expect(new Set(operations)).toEqual(new Set(['readVersions']))
    await store.put({ ...open, text: 'changed' }, { id: ids[0]! })
    operations = []
    expect(await store.count(byList, open, { scatter })).toBe(100)
    expect(operations.filter((operation) => operation !== 'readVersions')).toHaveLength(1)
  })

  it('a count reads no entity if there is no row, or with exact: false', async () => {
    await putOpen(3)
    operations = []
    expect(await store.count(byList, done, { scatter })).toBe(0)
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(3)
    expect(operations).toEqual([])
  })

  it('a damaged entity counts as a match', async () => {
    const [id] = await putOpen(3)
    const { entities } = memory.shards[shardOf(id!)]!
    const [row] = await entities.read([parseId(id!)])
    const epoch = store.context.catalog.current().epochs[shardOf(id!)]!
    const base = row!.version
    await entities.replace([{ id: parseId(id!), base, version: base + 1, body: Buffer.from('?') }], { epoch })
    expect(await store.count(byList, open, { scatter })).toBe(3)
    await expect(store.count(byList, open, { scatter, exact: true })).rejects.toMatchObject({
      code: 'BODY_DAMAGED',
    })
  })
})

describe('counts that may be short', () => {
  let rowCalls: string[]
  beforeEach(() => {
    rowCalls = []
  })
  const listen = (): DataStore => {
    for (const shard of memory.shards) {
      const index = shard.index({ table, columns: [{ name: 'list', type: 'string' }] })
      for (const name of ['scan', 'scanVersions', 'count', 'countShort'] as const) {
        const original = index[name] as (...args: unknown[]) => Promise<unknown>
        Object.assign(index, {
          [name]: (...args: unknown[]) => {
            rowCalls.push(name)
            return original(...args)
          },
        })
      }
    }
    return store
  }

  it('a short count takes one scan of each shard, and a longer one a count and more scans', async () => {
    await putOpen(60)
    await store.count(byList, open, { scatter })
    listen()
    expect(await store.count(byList, open, { scatter })).toBe(60)
    expect(rowCalls).toEqual(['scanVersions', 'scanVersions'])
    await putOpen(60)
    rowCalls = []
    expect(await store.count(byList, open, { scatter })).toBe(120)
    expect(rowCalls).toContain('count')
  })

  it('a short count of rows is made by the shards, and a longer one takes another count of each', async () => {
    await putOpen(60)
    await store.count(byList, open, { scatter, exact: false })
    listen()
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(60)
    expect(rowCalls).toEqual(['countShort', 'countShort'])
    await putOpen(200)
    rowCalls = []
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(260)
    expect(rowCalls.toSorted()).toEqual(['count', 'count', 'countShort', 'countShort'])
  })

  it('a short count of rows has up to 100 rows of each shard', async () => {
    const idsOn = (shard: number, count: number): EntityId[] => {
      const ids: EntityId[] = []
      while (ids.length < count) {
        const id = store.newId()
        if (shardOf(id) === shard) ids.push(id)
      }
      return ids
    }
    await leaveRows('open', [...idsOn(0, 100), ...idsOn(1, 100)])
    listen()
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(200)
    expect(rowCalls).toEqual(['countShort', 'countShort'])
    await leaveRows('open', idsOn(1, 1))
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(201)
    expect(rowCalls.slice(2).toSorted()).toEqual(['count', 'count', 'countShort', 'countShort'])
  })

  it('short counts of rows share statements', async () => {
    await putOpen(3)
    listen()
    const wheres = Array.from({ length: 120 }, (_, n) => (n % 2 === 0 ? open : done))
    const counted = await store.countMany(byList, wheres, { scatter, exact: false })
    expect(counted).toEqual(wheres.map((where) => (where === open ? 3 : 0)))
    expect(new Set(rowCalls)).toEqual(new Set(['countShort']))
    const calls = await Promise.all(
      wheres.map((where) => store.count(byList, where, { scatter, exact: false })),
    )
    expect(calls).toEqual(counted)
    expect(rowCalls.length).toBeLessThan(wheres.length / 2)
  })

  it('counts of an index whose counts were long begin with a count, until they are short', async () => {
    await putOpen(150)
    await store.put(done)
    listen()
    const callsOf = async (where: object): Promise<string> => {
      rowCalls = []
      await store.count(byList, where, { scatter })
      return rowCalls[0]!
    }
    for (let i = 0; i < 12; i++) await store.count(byList, open, { scatter })
    expect(await callsOf(open)).toBe('count')
    expect(await store.count(byList, open, { scatter })).toBe(150)
    for (let i = 0; i < 24; i++) expect(await store.count(byList, done, { scatter })).toBe(1)
    expect(await callsOf(done)).toBe('scanVersions')
  })

  it('a short count of rows has rows that lead nowhere, and each entity once', async () => {
    await putOpen(5)
    await leaveRows('open', [store.newId()])
    expect(await store.count(byList, open, { scatter, exact: false })).toBe(6)
    expect(await store.count(byList, open, { scatter })).toBe(5)
  })
})

describe('above 1,000', () => {
  it('a count above 1,000 is a number of rows, unless exact is true', async () => {
    await putOpen(1_000)
    expect(await store.count(byList, open, { scatter })).toBe(1_000)
    await leaveRows('open', [store.newId()])
    expect(await store.count(byList, open, { scatter })).toBe(1_001)
    expect(await store.count(byList, open, { scatter, exact: true })).toBe(1_000)
  })
})
