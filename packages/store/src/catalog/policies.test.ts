import { LooseleafError, parseId, type Driver, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
/** Milliseconds of each sleep of any process. */
let slept: number[]
let isDown: boolean

const time: Time = {
  now: Date.now,
  async sleep(milliseconds) {
    slept.push(milliseconds)
  },
}

/** Opens a store as a process. Its index rows cannot be written while `isDown`. */
function open(
  options: Partial<DataStoreOptions> = {},
  plan: FaultPlan = () => undefined,
): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) =>
    isDown && upsertsRows(call)
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away, on purpose.')) }
      : plan(call),
  )
  return DataStore.open({ shards: keepOpen(driver), indexes: [byName], time, ...options })
}

async function rowCount(store: DataStore): Promise<number> {
  await store.settled()
  const spec = tableSpec(store.context.catalog.current().indexes[0]!)
  const scans = memory.shards.map((shard) => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 100 }))
  return (await Promise.all(scans)).flat().length
}

/** Moves an entity, and returns true if its lost row stays. */
async function keepsRows(store: DataStore): Promise<boolean> {
  const before = await rowCount(store)
  const { id } = await store.put({ name: 'one' })
  await store.put({ name: 'two' }, { id })
  return (await rowCount(store)) - before === 2
}

const stored = () => Promise.all(memory.shards.map(({ catalog }) => catalog.load()))

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  slept = []
  isDown = false
})
afterEach(() => memory.close())

describe('the policies of a store', () => {
  it('every process has the policies that the store was made with', async () => {
    const maker = await open({ migrate: true, deleteDelayMs: 60_000, onIndexFailure: 'defer' })
    const other = await open()
    for (const store of [maker, other]) {
      expect((await store.status()).policies).toMatchObject({
        deleteDelayMs: 60_000,
        onIndexFailure: 'defer',
      })
      expect(await keepsRows(store)).toBe(true)
    }
    isDown = true
    expect(await other.put({ name: 'one' })).toMatchObject({ indexed: false })
  })

  it('the first process that gives policies sets them if the store has none', async () => {
    const maker = await open({ migrate: true })
    expect((await maker.status()).policies).toMatchObject({ deleteDelayMs: 0, onIndexFailure: 'fail' })
    expect(await keepsRows(maker)).toBe(false)
    await open({ deleteDelayMs: 60_000 })
    expect(await keepsRows(maker)).toBe(true)
    await open({ onIndexFailure: 'fail' })
    expect((await maker.status()).policies).toMatchObject({ deleteDelayMs: 60_000, onIndexFailure: 'fail' })
  })

  it.each([
    [{ deleteDelayMs: 60_000 }, { deleteDelayMs: 0 }, /deleteDelayMs is 60000 .*got 0\..*setPolicies/],
    [{ deleteDelayMs: 0 }, { deleteDelayMs: 60_000 }, /deleteDelayMs is 0 .*got 60000/],
    [{ onIndexFailure: 'fail' }, { onIndexFailure: 'defer' }, /onIndexFailure is "fail" .*got "defer"/],
  ] as const)('a store with %o rejects a process with %o', async (first, second, message) => {
    await open({ migrate: true, ...first })
    await open({ ...first })
    const epochs = (await stored()).map((catalog) => catalog?.epoch)
    await expect(open({ ...second })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(message),
    })
    expect((await stored()).map((catalog) => catalog?.epoch)).toEqual(epochs)
  })

  it('concurrent processes with different policies cannot both open a store', async () => {
    await open({ migrate: true })
    const both = await Promise.allSettled([open({ deleteDelayMs: 1 }), open({ deleteDelayMs: 2 })])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const winner = both[0]?.status === 'fulfilled' ? 1 : 2
    expect((await stored()).map((catalog) => catalog?.deleteDelayMs)).toEqual([winner, winner])
  })

  it('a process is rejected if another one sets different policies in between', async () => {
    await open({ migrate: true })
    let other: Promise<DataStore> | undefined
    const second = open({ deleteDelayMs: 2 }, ({ operation }) => {
      if (operation !== 'change' || other !== undefined) return undefined
      return { before: async () => void (await (other = open({ deleteDelayMs: 1 }))) }
    })
    await expect(second).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
    expect((await stored()).map((catalog) => catalog?.deleteDelayMs)).toEqual([1, 1])
  })

  it('deleteDelayMs keeps processes away that do not know it', async () => {
    const store = await open({ migrate: true, deleteDelayMs: 60_000 })
    for (const catalog of await stored())
      expect(catalog?.requires).toEqual([{ name: 'delete-delay', since: '0.1.0' }])
    await store.setPolicies({ deleteDelayMs: 0 })
    for (const catalog of await stored()) expect(catalog?.requires).toBeUndefined()
  })
})

describe('a process that is opened with policies while a shard does not answer', () => {
  const away: FaultPlan = ({ shard }) =>
    shard === 0
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'memory 0 is away.')) }
      : undefined

  it.each<[string, Partial<DataStoreOptions>, Partial<DataStoreOptions>, number]>([
    ['that the store lacks', {}, { deleteDelayMs: 5 }, 1],
    ['different from those of the store', { deleteDelayMs: 4 }, { deleteDelayMs: 5 }, 1],
    ['equal to those of the store', { deleteDelayMs: 5 }, { deleteDelayMs: 5 }, 0],
  ])(
    'a process with policies %s opens without a silent shard, and is warned if they are ignored',
    async (_, made, given, warnings) => {
      await open({ migrate: true, ...made })
      const received: string[] = []
      const before = await stored()
      await open({ ...given, onWarning: (message) => received.push(message) }, away)
      expect(
        received.filter((message) => /policies are ignored.*memory 0 is away/.test(message)),
      ).toHaveLength(warnings)
      expect(await stored()).toEqual(before)
    },
  )
})

describe('setPolicies', () => {
  it('setPolicies applies to processes that were open before', async () => {
    const one = await open({ migrate: true, deleteDelayMs: 0, onIndexFailure: 'fail' })
    const other = await open()
    await one.setPolicies({ deleteDelayMs: 60_000 })
    expect(await keepsRows(other)).toBe(true)
    await one.setPolicies({ onIndexFailure: 'defer' })
    expect((await one.status()).policies).toMatchObject({ deleteDelayMs: 60_000, onIndexFailure: 'defer' })
    // The next commit makes it read the catalog.
    await other.put({ name: 'two' })
    isDown = true
    expect(await other.put({ name: 'one' })).toMatchObject({ indexed: false })
    await one.setPolicies({ onIndexFailure: 'fail', deleteDelayMs: 0 })
    await expect(other.put({ name: 'one' })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    isDown = false
    expect(await keepsRows(other)).toBe(false)
    // The deferred row is not written yet.
    expect((await other.query(byName, { name: 'one' })).cost.complete).toBe(false)
  })

  it('the end of deferring applies to a shard as soon as its catalog has it', async () => {
    const store = await open({ migrate: true, onIndexFailure: 'defer' })
    const [first] = memory.shards
    const current = (await first!.catalog.load())!
    // A process that crashes between two shards leaves this.
    await first!.catalog.change(
      { ...current, onIndexFailure: 'fail', epoch: current.epoch + 1 },
      current.epoch,
    )
    await store.context.catalog.reload()
    isDown = true
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const id = store.newId()
        const shard = store.context.router.shardOfId(parseId(id))
        const indexed = await store.put({ name: 'one' }, { id }).then(
          (result) => result.indexed,
          () => 'refused',
        )
        return `${shard} ${indexed}`
      }),
    )
    expect([...new Set(outcomes)].toSorted()).toEqual(['0 refused', '1 false'])
  })

  it('setPolicies waits once until queries of all processes look for pending rows', async () => {
    const store = await open({ migrate: true })
    await store.setPolicies({ deleteDelayMs: 1 })
    expect(slept).toEqual([])
    await store.setPolicies({ onIndexFailure: 'defer' })
    expect(slept).toEqual([5_000])
    await store.setPolicies({ onIndexFailure: 'fail' })
    await store.setPolicies({ onIndexFailure: 'defer' })
    expect(slept).toEqual([5_000])
  })

  it('setPolicies changes nothing if the policies are the same', async () => {
    const store = await open({ migrate: true, deleteDelayMs: 5 })
    const before = await stored()
    await store.setPolicies({ deleteDelayMs: 5, onIndexFailure: undefined })
    await store.setPolicies({})
    expect(await stored()).toEqual(before)
  })

  it.each([
    [{ deleteDelayMs: -1 }, /deleteDelayMs of setPolicies has to be a number of milliseconds/],
    [{ deleteDelayMs: '5s' }, /deleteDelayMs of setPolicies/],
    [{ onIndexFailure: 'ignore' }, /onIndexFailure of setPolicies has to be 'fail' or 'defer'/],
    [{ queryTimeMs: 7 }, /setPolicies has no option "queryTimeMs"/],
    [undefined, /setPolicies takes options as an object/],
  ])('setPolicies rejects %o', async (policies, message) => {
    const store = await open({ migrate: true })
    await expect(store.setPolicies(policies as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(message),
    })
  })
})
