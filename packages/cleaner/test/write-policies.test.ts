import { isLooseleafError, LooseleafError, type Driver, type DriverFactory } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { type FaultPlan, faultyDriver, keepOpen, withoutPauses } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkIndex, sweep } from '../src/index.ts'
import { drainPending, tunedCleanIndex } from '../src/internal.ts'
import { refuseUpserts } from './refuse-upserts.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

/** More pending rows than the cleaner reads per page. */
const MANY = 600

let memory: Driver
let plan: FaultPlan
const opened: DataStore[] = []

async function open(options: Partial<DataStoreOptions>): Promise<DataStore> {
  const shards = keepOpen(faultyDriver(memory, (call) => plan(call)))
  const store = await DataStore.open({
    shards,
    indexes: [byName, byRank],
    migrate: true,
    time: withoutPauses,
    ...options,
  })
  opened.push(store)
  return store
}

const find = async (store: DataStore, name: string): Promise<string[]> =>
  (await store.getAll(byName, { name })).map((entity) => entity.id)

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await memory.close()
})

describe("onIndexFailure: 'defer'", () => {
  it('a deferred put commits, answers `indexed: false`, and queries are not complete', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = refuseUpserts
    const { id, indexed } = await store.put({ name: 'one', rank: 1 })
    expect(indexed).toBe(false)
    expect(await store.get(id)).toEqual({ id, name: 'one', rank: 1 })
    const page = await store.query(byName, { name: 'one' })
    expect(page.items).toEqual([])
    expect(page.cost.complete).toBe(false)
    const other = await store.query(byRank, { rank: 1 }, { scatter: true })
    expect(other.items).toHaveLength(1)
    expect(other.cost.complete).toBe(true)
  })

  it('the cleaner writes deferred rows', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = refuseUpserts
    const { id } = await store.put({ name: 'one', rank: 1 })
    const changed = await store.put({ name: 'two', rank: 1 }, { id })
    expect(changed.indexed).toBe(false)
    await expect(drainPending(store)).rejects.toSatisfy((error) =>
      isLooseleafError(error, 'SHARD_UNAVAILABLE'),
    )
    expect((await store.query(byName, { name: 'two' })).cost.complete).toBe(false)
    plan = () => undefined
    expect(await drainPending(store)).toBe(1)
    const page = await store.query(byName, { name: 'two' })
    expect(page.items.map((item) => item.id)).toEqual([id])
    expect(page.cost.complete).toBe(true)
    expect(await find(store, 'one')).toEqual([])
    expect(await drainPending(store)).toBe(0)
  })

  it('a drain keeps rows that are deferred while it runs', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = refuseUpserts
    const { id } = await store.put({ name: 'one', rank: 1 })
    let isFirst = true
    plan = (call) => {
      if (call.operation !== 'remove' || call.table !== 'pending') return undefined
      return {
        async before() {
          if (!isFirst) return
          isFirst = false
          plan = refuseUpserts
          await store.put({ name: 'three', rank: 1 }, { id })
          plan = () => undefined
        },
      }
    }
    await drainPending(store)
    expect((await store.query(byName, { name: 'three' })).cost.complete).toBe(false)
    await drainPending(store)
    expect(await find(store, 'three')).toEqual([id])
    expect((await store.query(byName, { name: 'three' })).cost.complete).toBe(true)
  })

  it('the policy applies to processes that open the store later', async () => {
    const first = await open({ onIndexFailure: 'defer' })
    const second = await open({})
    plan = refuseUpserts
    await first.put({ name: 'one', rank: 1 })
    expect((await second.query(byName, { name: 'one' })).cost.complete).toBe(false)
    expect(await second.put({ name: 'two', rank: 2 })).toMatchObject({ indexed: false })
  })

  it('a drain deletes the pending rows of a dropped index', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = refuseUpserts
    await store.put({ name: 'one', rank: 1 })
    plan = () => undefined
    await store.dropIndex('by_name')
    expect(await drainPending(store)).toBe(1)
  })

  it('a cleaner that does not know the index yet writes its deferred rows', async () => {
    const store = await open({ onIndexFailure: 'defer', indexes: [byRank] })
    const cleaner = await open({ indexes: [], migrate: false })
    await store.addIndex(byName)
    await tunedCleanIndex(store, 'by_name', { settleMs: 0, pollMs: 1 })
    plan = refuseUpserts
    const { id } = await store.put({ name: 'one', rank: 1 })
    plan = () => undefined
    expect(await drainPending(cleaner)).toBe(1)
    const page = await store.query(byName, { name: 'one' })
    expect(page.items.map((item) => item.id)).toEqual([id])
    expect(page.cost.complete).toBe(true)
  })

  it('a cleaner that does not know the policy yet writes deferred rows', async () => {
    const cleaner = await open({})
    const store = await open({ onIndexFailure: 'defer', time: { now: Date.now, sleep: async () => {} } })
    plan = refuseUpserts
    const { id } = await store.put({ name: 'one', rank: 1 })
    plan = () => undefined
    expect(await drainPending(cleaner)).toBe(1)
    expect(await find(store, 'one')).toEqual([id])
  })

  it.each([
    ['before its tables go', 0],
    ['when one of its tables has gone', 1],
  ])(
    'a query of an index that is being dropped finds deferred rows or is not complete: %s',
    async (_, gone) => {
      const store = await open({ onIndexFailure: 'defer' })
      const reader = await open({ migrate: false })
      plan = refuseUpserts
      const { id } = await store.put({ name: 'one', rank: 1 })
      const { catalog, router } = store.context
      const entry = catalog.current().indexes.find(({ name }) => name === 'by_name')!
      const home = router.shardOfKey(Buffer.from('one'))
      let looks = 0
      const look = async (): Promise<void> => {
        looks++
        if (gone > 0) await memory.shards[1 - home]!.dropIndexTable(tableSpec(entry))
        await drainPending(store)
        const { items, cost } = await reader.query(byName, { name: 'one' })
        if (cost.complete) expect(items.map((item) => item.id)).toEqual([id])
        expect(cost.complete).toBe(gone === 0)
      }
      let looked: Promise<void> | undefined
      plan = ({ operation, args }) =>
        operation === 'dropIndexTable' && (args[0] as IndexTableSpec).table === 'index_by_name'
          ? { before: () => (looked ??= look()) }
          : undefined
      await store.dropIndex('by_name')
      expect(looks).toBe(1)
      await drainPending(store)
      expect(await drainPending(store)).toBe(0)
    },
  )

  it('two cleaners that drain concurrently leave no row missing', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    const other = await open({})
    plan = refuseUpserts
    const ids = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => (await store.put({ name: `${n % 3}`, rank: n })).id),
    )
    plan = () => undefined
    await Promise.all([
      drainPending(store),
      drainPending(other),
      store.put({ name: '9', rank: 0 }, { id: ids[0]! }),
    ])
    await store.settled()
    // A write beside the drains may leave a pending row, for its new version.
    await drainPending(store)
    expect(await drainPending(store)).toBe(0)
    expect(await checkIndex(store, 'by_name')).toMatchObject({ missing: 0, dangling: 0 })
    expect((await find(store, '1')).length).toBe(100)
  })

  it('deferred rows of one index are written while another still cannot be written, with many pending rows', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = (call) =>
      upsertsRows(call)
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')) }
        : undefined
    for (const count of [1, MANY]) {
      await Promise.all(Array.from({ length: count }, () => store.put({ name: 'one', rank: count })))
    }
    const countRank = (rank: number): Promise<number> => store.count(byRank, { rank }, { scatter: true })
    const complete = async (): Promise<boolean> =>
      (await store.query(byRank, { rank: 1 }, { scatter: true })).cost.complete
    expect(await complete()).toBe(false)
    plan = refuseUpserts
    await expect(drainPending(store)).rejects.toSatisfy((error) =>
      isLooseleafError(error, 'SHARD_UNAVAILABLE'),
    )
    expect(await complete()).toBe(true)
    expect([await countRank(1), await countRank(MANY)]).toEqual([1, MANY])
    expect((await store.query(byName, { name: 'one' })).cost.complete).toBe(false)
  })

  it('a cleaner keeps pending rows of entities that it cannot decode, and writes the others', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    const { codec } = store.context
    const decode: typeof codec.decode = (body) => {
      const bag = codec.decode(body)
      if (bag['name'] !== 'strange') return bag
      throw new LooseleafError('BODY_UNKNOWN', 'The format is not known.')
    }
    const cleaner = await open({ codec: { ...codec, decode } })
    plan = refuseUpserts
    await Promise.all(Array.from({ length: MANY }, () => store.put({ name: 'strange' })))
    const ids = await Promise.all(
      Array.from({ length: 10 }, async () => (await store.put({ name: 'one' })).id),
    )
    plan = () => undefined
    expect(await drainPending(cleaner)).toBe(10)
    expect((await find(store, 'one')).toSorted()).toEqual(ids.toSorted())
    expect((await store.query(byName, { name: 'strange' })).cost.complete).toBe(false)
    expect(await drainPending(store)).toBe(MANY)
    expect(await find(store, 'strange')).toHaveLength(MANY)
    expect((await store.query(byName, { name: 'strange' })).cost.complete).toBe(true)
  })

  it('the cleaner writes the rows of a deferred put after a crash right after its commit', async () => {
    // Local rows are in the transaction of their entity, and never deferred.
    const router = farRouter()
    const store = await open({ onIndexFailure: 'defer', router })
    const dying = faultyDriver(memory, (call) =>
      call.table === 'entities' && call.operation === 'insert' ? { crash: 'after' } : refuseUpserts(call),
    )
    const shards: DriverFactory = { shardCount: 2, connect: async () => dying }
    const victim = await DataStore.open({ shards, indexes: [byName], onIndexFailure: 'defer', router })
    const id = victim.newId()
    void victim.put({ name: 'one' }, { id })
    await dying.crashed
    expect((await store.query(byName, { name: 'one' })).cost.complete).toBe(false)
    expect(await drainPending(store)).toBe(1)
    expect(await find(store, 'one')).toEqual([id])
    expect((await store.query(byName, { name: 'one' })).cost.complete).toBe(true)
  })

  it('a permanent error is not deferred', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = (call) =>
      upsertsRows(call, 'index_by_name')
        ? {
            before() {
              throw new LooseleafError('STATEMENT_FAILED', 'Refused (a fault on purpose).')
            },
          }
        : undefined
    await expect(store.put({ name: 'one' })).rejects.toSatisfy((error) =>
      isLooseleafError(error, 'STATEMENT_FAILED'),
    )
  })
})

describe("writeOrder: 'entity-first'", () => {
  it('an entity-first put commits before it writes rows, and leaves lost rows to the cleaner', async () => {
    const calls: string[] = []
    const store = await open({ writeOrder: 'entity-first', router: farRouter() })
    plan = (call) => {
      calls.push(`${call.table} ${call.operation}`)
      return undefined
    }
    const { id, indexed } = await store.put({ name: 'one' })
    expect(indexed).toBe(true)
    expect(calls).toEqual(['entities insert', 'index_by_name upsert'])
    await store.put({ name: 'two' }, { id })
    await store.settled()
    expect(calls.filter((call) => call.endsWith('remove'))).toEqual([])
    expect(await find(store, 'one')).toEqual([])
    expect((await checkIndex(store, 'by_name')).dangling).toBe(1)
    await sweep(store)
    expect(await checkIndex(store, 'by_name')).toMatchObject({ dangling: 0, missing: 0 })
  })

  it('an entity-first put answers `indexed: false` if rows cannot be written, and the cleaner adds them', async () => {
    const store = await open({ writeOrder: 'entity-first' })
    plan = refuseUpserts
    const { id, indexed } = await store.put({ name: 'one' })
    expect(indexed).toBe(false)
    expect(await find(store, 'one')).toEqual([])
    plan = () => undefined
    await sweep(store)
    expect(await find(store, 'one')).toEqual([id])
  })
})

describe('deleteDelayMs', () => {
  it('with `deleteDelayMs` lost rows are left to the cleaner, which waits until the commit is old enough', async () => {
    const store = await open({ deleteDelayMs: 60_000 })
    const { id } = await store.put({ name: 'one' })
    await store.put({ name: 'two' }, { id })
    await store.settled()
    await sweep(store)
    expect(await checkIndex(store, 'by_name')).toMatchObject({ dangling: 1, missing: 0 })
    const later = { ...store.context, time: { ...store.context.time, now: () => Date.now() + 61_000 } }
    await sweep({ context: later })
    expect(await checkIndex(store, 'by_name')).toMatchObject({ dangling: 0, missing: 0 })
    expect(await find(store, 'two')).toEqual([id])
  })

  it('with `deleteDelayMs` no row is missing after a failover undoes the last commit', async () => {
    const store = await open({ deleteDelayMs: 60_000 })
    const { id, version } = await store.put({ name: 'one' })
    const second = await store.put({ name: 'two' }, { id })
    await store.settled()
    // The replica that takes over lacks the second write.
    const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
    const shard = memory.shards[store.context.router.shardOfId(bytes)]!
    const epoch = store.context.catalog.current().epochs[0]!
    const body = store.context.codec.encode({ name: 'one' })
    await shard.entities.replace([{ id: bytes, base: second.version, version, body }], { epoch })
    expect(await find(store, 'one')).toEqual([id])
  })
})

describe('options', () => {
  it.each<[Partial<DataStoreOptions>]>([
    [{ writeOrder: 'rows-first' as never }],
    [{ onIndexFailure: 'ignore' as never }],
    [{ deleteDelayMs: -1 }],
    [{ deleteDelayMs: Number.NaN }],
    [{ writeTimeoutMs: 0 }],
    [{ writeTimeoutMs: -1 }],
    [{ writeTimeoutMs: Number.NaN }],
    [{ writeTimeoutMs: '30' as never }],
    [{ writeOrder: 'entity-first', onIndexFailure: 'defer' }],
  ])('a store rejects bad options: %j', async (options) => {
    await expect(open(options)).rejects.toSatisfy((error) => isLooseleafError(error, 'BAD_OPTION'))
  })
})
