import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { PendingPage } from '@looseleaf/core/internal'
import { changeCatalog, changeServes } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  byTag,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  rowFor,
  rowsIn,
  shared,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget } from '../pass/index-target.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { drainKnown, drainPending } from './drain-pending.ts'

const BAG = { user_id: 'ada', published: 1, tags: ['x'] }

let driver: ReferenceDriver
let plan: FaultPlan
let store: DataStore

async function open(migrate = false): Promise<DataStore> {
  return DataStore.open({
    shards: shared(faultyDriver(driver, (call) => plan(call))),
    indexes: [byUser, byTag],
    migrate,
    time: leapingTime(),
    onIndexFailure: 'defer',
  })
}

beforeEach(async () => {
  driver = createReferenceDriver({ shards: 1 })
  plan = () => undefined
  store = await open(true)
})

/** Makes calls of this operation on this table fail with this code. */
function failing(
  table: string,
  operation: string,
  code: 'SHARD_UNAVAILABLE' | 'INDEX_NOT_FOUND',
  text = code as string,
): FaultPlan {
  return (call) =>
    (operation === 'upsert' ? upsertsRows(call, table) : call.table === table && call.operation === operation)
      ? { before: () => Promise.reject(new LooseleafError(code, `${text} (on purpose).`)) }
      : undefined
}

/** Puts entities whose rows are pending, in both indexes or only in the one of this table. */
async function defer(count: number, table?: string): Promise<string[]> {
  plan = (call) =>
    upsertsRows(call, table)
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined
  const results = await store.putMany(Array.from({ length: count }, () => BAG))
  plan = () => undefined
  return results.map(({ id }) => id)
}

const pending = () => driver.shards[0]!.pending.page({ limit: 1_000 })

async function setRetiring(table: string): Promise<void> {
  await changeCatalog(driver, (indexes) =>
    indexes.map((entry) => (entry.table === table ? { ...entry, state: 'retiring' as const } : entry)),
  )
  await store.context.catalog.reload()
}

describe('a drain', () => {
  it('a drain keeps pending rows whose rows it wrote by an earlier catalog of their shard, and the next one deletes them', async () => {
    await defer(2)
    const { catalog } = driver.shards[0]!
    let changes = 0
    plan = ({ operation }) => {
      if (operation === 'load') return { after: () => new Promise((resolve) => setTimeout(resolve, 5)) }
      return operation === 'upsert' && ++changes === 1
        ? {
            before: async () => {
              await changeServes(driver.shards[0]!, (await catalog.load())!, { owns: '0-4095' })
            },
          }
        : undefined
    }
    expect(await drainPending(store)).toBe(0)
    expect(store.context.catalog.current().epochs).toEqual([(await catalog.load())!.epoch])
    expect(await pending()).toHaveLength(4)
    expect(await drainPending(store)).toBe(4)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('a drain leaves pending rows of entities alone that their shard does not serve', async () => {
    await defer(2)
    const { catalog } = driver.shards[0]!
    const change = async (serves: object): Promise<void> => {
      await changeServes(driver.shards[0]!, (await catalog.load())!, serves as never)
      await store.context.catalog.reload()
    }
    const motion = { move: 1, attempt: 1, buckets: '0-4095' }
    await change({ owns: '', away: [{ ...motion, to: 1, end: 1 }] })
    expect(await drainPending(store)).toBe(0)
    expect(await pending()).toHaveLength(4)
  })

  it('a drain keeps pending rows if another process has set that a failover may lose commits', async () => {
    await defer(2)
    const other = await open()
    await other.setPolicies({ deleteDelayMs: 60_000 })
    await defer(1)
    expect(await drainPending(store)).toBe(0)
    expect(await pending()).toHaveLength(6)
  })

  it('a drain of known indexes reads the catalog only once, for the policies', async () => {
    await defer(2)
    let loads = 0
    plan = ({ operation }) => {
      if (operation === 'load') loads++
      return undefined
    }
    expect(await drainPending(store)).toBe(4)
    expect(loads).toBe(1)
    for (const name of ['by_user', 'by_tag'])
      expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
  })

  it('a drain reloads the catalog for an index that it does not know, and writes its rows too', async () => {
    const late = await open()
    await store.dropIndex('by_tag')
    await store.addIndex(byTag)
    await defer(2)
    expect(await drainKnown(late.context, {})).toBe(4)
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  })

  it('a drain reads all pages, each after the last row of the one before', async () => {
    await defer(250, 'index_by_user')
    const all = await pending()
    const pages: (PendingPage['after'] | undefined)[] = []
    plan = ({ table, operation, args }) => {
      if (table === 'pending' && operation === 'page') pages.push((args[0] as PendingPage).after)
      return undefined
    }
    expect(await drainPending(store)).toBe(250)
    expect(pages).toEqual([undefined, all[199]])
  })

  it('a drain skips an index after an error of its table, and drains the others', async () => {
    await defer(150)
    const exceptions: (readonly string[] | undefined)[] = []
    plan = (call) => {
      if (call.table === 'pending' && call.operation === 'page')
        exceptions.push((call.args[0] as PendingPage).except)
      return failing('index_by_user', 'upsert', 'SHARD_UNAVAILABLE')(call)
    }
    await expect(drainPending(store)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(exceptions).toEqual([[], ['index_by_user']])
    plan = () => undefined
    const remaining = await pending()
    expect([remaining.length, new Set(remaining.map(({ table }) => table))]).toEqual([
      150,
      new Set(['index_by_user']),
    ])
  })

  it('a drain throws the error of the first index that it could not write', async () => {
    await defer(1)
    const [first, second] = (await pending()).map(({ table }) => table)
    plan = (call) =>
      failing(first!, 'upsert', 'SHARD_UNAVAILABLE', 'The first')(call) ??
      failing(second!, 'upsert', 'SHARD_UNAVAILABLE', 'The second')(call)
    await expect(drainPending(store)).rejects.toThrow('The first')
  })

  it('a drain keeps the pending rows of an attempt that may still commit', async () => {
    const { shards } = driver
    const { epoch } = (await shards[0]!.catalog.load())!
    const before = shards[0]!.state()
    const [id] = await defer(1)
    const rows = await pending()
    // The entity is gone, but its pending rows are not.
    shards[0]!.fallBack({ ...shards[0]!.state(), entities: before.entities }, 'entities')
    expect(epoch).toBeGreaterThan(0)
    expect(await store.get(id!)).toBeUndefined()
    expect(await drainPending(store)).toBe(0)
    expect(await pending()).toEqual(rows)
  })

  it('a drain keeps pending rows if a crash undid the version that it read', async () => {
    const { id } = await store.put({ user_id: 'ada', published: 1 })
    const before = driver.shards[0]!.state()
    plan = failing('index_by_user', 'upsert', 'SHARD_UNAVAILABLE')
    await store.put({ user_id: 'bob', published: 1 }, { id })
    let isUndone = false
    plan = ({ operation }) => {
      if (operation !== 'flush' || isUndone) return undefined
      isUndone = true
      const { shards } = driver
      return {
        before: () => shards[0]!.fallBack({ ...shards[0]!.state(), entities: before.entities }, 'entities'),
      }
    }
    expect(await drainPending(store)).toBe(0)
    expect(isUndone).toBe(true)
    expect(await pending()).toHaveLength(1)
  })

  it('a drain of a store that defers no rows sends no statement', async () => {
    const { context } = await openStore({
      driver: faultyDriver(createReferenceDriver({ shards: 1 }), (call) => plan(call)),
    })
    let sent = 0
    plan = () => {
      sent++
      return undefined
    }
    expect([await drainKnown(context, {}), sent]).toEqual([0, 0])
  })

  it('a drain throws an error of the delete of pending rows', async () => {
    await defer(1)
    plan = failing('pending', 'remove', 'SHARD_UNAVAILABLE')
    await expect(drainPending(store)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    plan = () => undefined
    expect(await drainPending(store)).toBe(2)
  })

  it('a drain schedules the deletes of rows that its entities have lost, before it ends', async () => {
    const { id, version } = await store.put(BAG)
    await addRow(store, 'by_user', rowFor(store, 'by_user', id, { ...BAG, published: 2 }, version))
    plan = failing('index_by_user', 'upsert', 'SHARD_UNAVAILABLE')
    await store.put({ ...BAG, published: 3 }, { id })
    await store.settled()
    plan = ({ operation }) =>
      operation === 'rowsOf' ? { before: () => new Promise((resolve) => setTimeout(resolve, 5)) } : undefined
    const removals = createKeptRemovals(store.context)
    expect(await drainKnown(store.context, {}, removals)).toBe(1)
    expect(removals.isEmpty).toBe(false)
    await removals.settle(undefined)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('a drain first deletes kept rows that are due', async () => {
    const { id, version } = await store.put(BAG)
    const { context } = store
    const target = indexTarget(context, entryOf(store, 'by_user'))
    const other = rowFor(store, 'by_user', id, { ...BAG, published: 2 }, version)
    await addRow(store, 'by_user', other)
    const { shard, row } = other
    const removals = createKeptRemovals(context)
    const entity = { id: row.entityId, version, updated: 0, expected: new Map() }
    removals.add({ entity, target, shard, row, misplaced: false }, version)
    plan = ({ operation }) =>
      operation === 'remove' ? { before: () => new Promise((resolve) => setTimeout(resolve, 20)) } : undefined
    expect(await drainKnown(context, {}, removals)).toBe(0)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })
})

describe('pending rows of an index with a missing table', () => {
  it('a drain keeps pending rows of a retiring index whose table is missing, without an error', async () => {
    await defer(1, 'index_by_user')
    await setRetiring('index_by_user')
    plan = failing('index_by_user', 'upsert', 'INDEX_NOT_FOUND')
    expect(await drainPending(store)).toBe(0)
    expect(await pending()).toHaveLength(1)
  })

  it('a drain throws if the table of an index in use is missing', async () => {
    await defer(1, 'index_by_user')
    plan = failing('index_by_user', 'upsert', 'INDEX_NOT_FOUND')
    await expect(drainPending(store)).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
  })

  it('a drain throws if a shard does not answer, even for a retiring index', async () => {
    await defer(1, 'index_by_user')
    await setRetiring('index_by_user')
    plan = failing('index_by_user', 'upsert', 'SHARD_UNAVAILABLE')
    await expect(drainPending(store)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  })
})
