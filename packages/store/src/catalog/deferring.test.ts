import { LooseleafError, type Driver, type Time } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
/** The clock of all processes, in milliseconds. */
let now: number
let pauses: number[]
/** Runs while a process waits. */
let meanwhile: () => Promise<void>

const time: Time = {
  now: () => now,
  async sleep(milliseconds) {
    pauses.push(milliseconds)
    await meanwhile()
    now += milliseconds
  },
}

async function open(
  options: Partial<DataStoreOptions> = {},
  plan: FaultPlan = () => undefined,
): Promise<DataStore> {
  const driver = faultyDriver(memory, plan)
  return DataStore.open({ shards: keepOpen(driver), indexes: [byName], time, ...options })
}

const refuseUpserts: FaultPlan = (call) =>
  upsertsRows(call)
    ? {
        before() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
        },
      }
    : undefined

const isComplete = async (store: DataStore, name = 'one'): Promise<boolean> =>
  (await store.query(byName, { name })).cost.complete

/** Opens a store that only reads, and counts its loads of catalogs. */
async function openReader(): Promise<{ reader: DataStore; loads: () => number }> {
  let loads = 0
  const reader = await open({}, ({ table, operation }) => {
    if (table === 'catalog' && operation === 'load') loads++
    return undefined
  })
  loads = 0
  return { reader, loads: () => loads }
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  now = Date.now()
  pauses = []
  meanwhile = async () => {}
})
afterEach(async () => {
  await memory.close()
})

describe('a process that defers', () => {
  it('a query of a process that was open before sees that another one defers', async () => {
    await open({ migrate: true })
    const { reader } = await openReader()
    expect(await isComplete(reader)).toBe(true)
    const deferring = await open({ onIndexFailure: 'defer' }, refuseUpserts)
    const { indexed } = await deferring.put({ name: 'one' })
    expect(indexed).toBe(false)
    expect(await isComplete(reader)).toBe(false)
  })

  it('a process defers only once no query of any process can wrongly say that it is complete', async () => {
    await open({ migrate: true })
    const readers = await Promise.all(Array.from({ length: 40 }, async () => (await openReader()).reader))
    let questions = 0
    const ask = async (): Promise<void> => {
      // Queries both shards at every step of the announcement, which a shard may not have yet.
      for (const name of ['a', 'b', 'c', 'd']) await isComplete(readers[questions++]!, name)
    }
    const deferring = await open({ onIndexFailure: 'defer' }, (call) =>
      call.operation === 'change' ? { before: ask, after: ask } : refuseUpserts(call),
    )
    expect(questions).toBeGreaterThan(16)
    await deferring.put({ name: 'one' })
    for (const reader of readers) expect(await isComplete(reader)).toBe(false)
  })

  it('deferring waits once in the life of a store', async () => {
    await open({ migrate: true })
    await open({ onIndexFailure: 'defer' })
    expect(pauses).toEqual([5_000])
    await open({ onIndexFailure: 'defer' })
    await open({ onIndexFailure: 'defer', migrate: true })
    expect(pauses).toEqual([5_000])
  })

  it('deferring does not wait in a new store', async () => {
    const store = await open({ onIndexFailure: 'defer', migrate: true }, refuseUpserts)
    expect(pauses).toEqual([])
    const { reader } = await openReader()
    await store.put({ name: 'one' })
    expect(await isComplete(reader)).toBe(false)
  })

  it('deferring waits again if a process has crashed during its wait', async () => {
    await open({ migrate: true })
    meanwhile = () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.'))
    await expect(open({ onIndexFailure: 'defer' })).rejects.toMatchObject({ code: 'CLOSED' })
    meanwhile = async () => {}
    await open({ onIndexFailure: 'defer' })
    expect(pauses).toEqual([5_000, 5_000])
  })

  it('two processes that begin to defer at the same time both wait', async () => {
    await open({ migrate: true })
    meanwhile = async () => {
      meanwhile = async () => {}
      await open({ onIndexFailure: 'defer' })
    }
    await open({ onIndexFailure: 'defer' })
    expect(pauses).toEqual([5_000, 5_000])
  })
})

describe('the announcement of deferring', () => {
  /** Records `mayDefer` of each change of shard 0, in order. */
  function watch(announced: unknown[]): FaultPlan {
    return ({ shard, table, operation, args }) => {
      if (shard === 0 && table === 'catalog' && operation === 'change')
        announced.push((args[0] as ShardCatalog).mayDefer)
      return undefined
    }
  }

  it('deferring is announced once, and known to its own process', async () => {
    await open({ migrate: true })
    const announced: unknown[] = []
    const { context } = await open({ onIndexFailure: 'defer' }, watch(announced))
    expect(announced).toEqual([false, true])
    expect(context.catalog.current()).toMatchObject({ mayDefer: true, everyoneLooks: true })
  })

  it('deferring is not announced again if a process has crashed during its wait', async () => {
    await open({ migrate: true })
    meanwhile = () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.'))
    await expect(open({ onIndexFailure: 'defer' })).rejects.toMatchObject({ code: 'CLOSED' })
    meanwhile = async () => {}
    const announced: unknown[] = []
    await open({ onIndexFailure: 'defer' }, watch(announced))
    expect(announced).toEqual([true])
  })

  it('a process with an older catalog does not take the announcement of deferring back', async () => {
    await open({ migrate: true })
    const announced: unknown[] = []
    let other: Promise<DataStore> | undefined
    await open({ onIndexFailure: 'defer' }, (call) => {
      if (call.operation !== 'change' || other !== undefined) return watch(announced)(call)
      return { before: async () => void (await (other = open({ onIndexFailure: 'defer' }))) }
    })
    expect(announced).toEqual([])
    const stored = await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))
    expect(stored.map((catalog) => catalog?.mayDefer)).toEqual([true, true])
  })
})

describe('a process that reads', () => {
  it('a query asks for pending rows only once the store may have some', async () => {
    await open({ migrate: true })
    let questions = 0
    let loads = 0
    const plan: FaultPlan = ({ table, operation }) => {
      if (table === 'pending') questions++
      if (table === 'catalog' && operation === 'load') loads++
      return undefined
    }
    const reader = await open({}, plan)
    await isComplete(reader)
    await isComplete(reader)
    expect(questions).toBe(0)
    await open({ onIndexFailure: 'defer' })
    loads = 0
    await isComplete(reader)
    expect(questions).toBeGreaterThan(0)
    // One look, and a read of the whole catalog.
    expect(loads).toBe(1 + 2)
    await isComplete(reader)
    expect(loads).toBe(1 + 2)
  })

  it('a failed look at the catalog does not fail later queries', async () => {
    await open({ migrate: true })
    let isDown = false
    const reader = await open({}, ({ table, operation }) =>
      isDown && table === 'catalog' && operation === 'load'
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    )
    isDown = true
    await expect(isComplete(reader)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    isDown = false
    expect(await isComplete(reader)).toBe(true)
  })

  it('a query sees that rows are pending although the whole catalog cannot be read', async () => {
    await open({ migrate: true })
    // Loads succeed while the store opens.
    let loads = -Infinity
    const reader = await open({}, ({ table, operation }) =>
      table === 'catalog' && operation === 'load' && loads++ > 0
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    )
    const deferring = await open({ onIndexFailure: 'defer' }, refuseUpserts)
    await deferring.put({ name: 'one' })
    loads = 0
    expect(await isComplete(reader)).toBe(false)
    expect(loads).toBeGreaterThan(1)
  })

  it('queries look at the catalog of one shard at most every two seconds', async () => {
    await open({ migrate: true })
    const { reader, loads } = await openReader()
    await Promise.all(Array.from({ length: 10 }, () => isComplete(reader)))
    expect(loads()).toBe(1)
    now += 1_999
    await isComplete(reader)
    expect(loads()).toBe(1)
    now += 1
    await isComplete(reader)
    expect(loads()).toBe(2)
    // After a clock was set back, the age of the look is unknown.
    now -= 3_600_000
    await isComplete(reader)
    expect(loads()).toBe(3)
  })

  it('a look at the catalog needs no shard that the query does not need', async () => {
    const store = await open({ migrate: true })
    await store.put({ name: 'one' })
    const { indexes } = store.context.catalog.current()
    const shards = await Promise.all(
      memory.shards.map((shard) =>
        shard
          .index({ table: indexes[0]!.table, columns: [{ name: 'name', type: 'string' }] })
          .count({ prefix: [] }),
      ),
    )
    const other = shards.indexOf(0)
    let isDown = false
    const reader = await open({}, ({ shard, table }) =>
      isDown && shard === other && table === 'catalog'
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined,
    )
    isDown = true
    // Only the catalog of the other shard is down: the entity may be there.
    expect(await isComplete(reader)).toBe(true)
  })

  it('a query does not share an older look at the catalog that has waited for long', async () => {
    await open({ migrate: true })
    const answer = Promise.withResolvers<void>()
    let first = true
    const reader = await open({}, ({ table, operation }) => {
      if (table !== 'catalog' || operation !== 'load' || pauses.length === 0 || !first) return undefined
      first = false
      return { after: () => answer.promise }
    })
    pauses.push(0)
    const slow = isComplete(reader)
    await new Promise((resolve) => setImmediate(resolve))
    const deferring = await open({ onIndexFailure: 'defer' }, refuseUpserts)
    await deferring.put({ name: 'one' })
    const late = isComplete(reader)
    expect(await late).toBe(false)
    answer.resolve()
    await slow
    expect(await isComplete(reader)).toBe(false)
  })
})
