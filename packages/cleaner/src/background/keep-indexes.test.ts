import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '../../test/times.ts'
import { joinRuns, loadRuns } from '../clean/run-record.ts'
import { createIndexKeeper, type IndexKeeper } from './keep-indexes.ts'

const HOUR = 3_600_000

let driver: ReferenceDriver
let time: LeapingTime
let plan: FaultPlan
let errors: unknown[]
let store: DataStore

beforeEach(() => {
  time = leapingTime()
  plan = () => undefined
  errors = []
  driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
})

async function keep(
  indexes: readonly (typeof byUser | typeof byTag)[],
  signal: AbortSignal = new AbortController().signal,
): Promise<IndexKeeper> {
  store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time, indexes })
  const options = { signal, sweepEveryMs: HOUR, settleMs: 0 }
  return createIndexKeeper(store.context, options, {}, (error) => errors.push(error))
}

const finishedAt = async (table: string): Promise<number | undefined> =>
  (await loadRuns(store.context, [table])).get(table)?.finishedAt

/** Another process has added an index. */
async function addElsewhere(definition: typeof byUser): Promise<void> {
  await (await openStore({ driver, indexes: [], time })).addIndex(definition)
}

/** Each reading of a table fails, from now on. */
const away: FaultPlan = ({ operation }) =>
  operation === 'pageByAdded'
    ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
    : undefined

describe('an index that is being built', () => {
  it('is filled, by a process that has not heard of it too', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    await keeper.startDue({})
    expect([keeper.filling, keeper.sweeping]).toEqual([['by_user'], []])
    await keeper.ended()
    expect([keeper.filling, keeper.sweeping]).toEqual([[], []])
    expect(await store.indexes()).toMatchObject([{ name: 'by_user', state: 'ready' }])
  })

  it('is filled once, however often it is looked', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    await keeper.startDue({})
    await keeper.startDue({})
    expect(keeper.filling).toEqual(['by_user'])
    await keeper.ended()
  })

  it('is filled beside a sweep of others, and beside another filling', async () => {
    const keeper = await keep([byUser])
    const goesOn = Promise.withResolvers<void>()
    plan = ({ operation }) => (operation === 'pageByAdded' ? { before: () => goesOn.promise } : undefined)
    await keeper.startDue({})
    await addElsewhere(byTag as never)
    await keeper.startDue({})
    expect([keeper.filling, keeper.sweeping]).toEqual([['by_tag'], ['by_user']])
    goesOn.resolve()
    await keeper.ended()
    expect((await store.indexes()).map(({ state }) => state)).toEqual(['ready', 'ready'])
  })

  it('that fails is told, and tried again after a while, which gets longer', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    plan = away
    for (const wait of [500, 1_000, 2_000]) {
      await keeper.startDue({})
      expect(keeper.filling).toEqual(['by_user'])
      await keeper.ended()
      time.leap(wait - 1)
      await keeper.startDue({})
      expect(keeper.filling).toEqual([])
      time.leap(1)
    }
    expect(errors).toHaveLength(3)
    plan = () => undefined
    await keeper.startDue({})
    await keeper.ended()
    expect(errors).toHaveLength(3)
    expect(await store.indexes()).toMatchObject([{ state: 'ready' }])
  })
})

describe('what is done to an index', () => {
  it('begins, where it is filled, when every shard has heard of it', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    // As if the process that has added it had died between two shards.
    const { catalog } = driver.shards[1]!
    const { epoch, ...rest } = (await catalog.load())!
    await catalog.change({ ...rest, indexes: [], epoch: epoch - 1 }, epoch)
    const known: number[] = []
    plan = ({ operation }) =>
      operation === 'pageByAdded'
        ? { before: async () => void known.push((await catalog.load())!.indexes.length) }
        : undefined
    await keeper.startDue({})
    await keeper.ended()
    expect(new Set(known)).toEqual(new Set([1]))
  })

  it('is one reading of the entities, where it is swept', async () => {
    const keeper = await keep([byUser])
    let pages = 0
    plan = ({ operation }) => {
      if (operation === 'pageByAdded') pages++
      return undefined
    }
    await keeper.startDue({})
    await keeper.ended()
    expect(pages).toBe(2)
  })

  it('is tried again soon where it has worked since it failed last', async () => {
    const keeper = await keep([byUser])
    for (let round = 0; round < 2; round++) {
      plan = away
      await keeper.startDue({})
      await keeper.ended()
      plan = () => undefined
      time.leap(500)
      await keeper.startDue({})
      expect(keeper.sweeping).toEqual(['by_user'])
      await keeper.ended()
      time.leap(HOUR)
    }
    expect(errors).toHaveLength(2)
  })
})

describe('an index that is ready', () => {
  it('and was swept a moment ago is gone on with where another process has begun again, and left', async () => {
    const keeper = await keep([byUser])
    await keeper.startDue({})
    await keeper.ended()
    await joinRuns(store.context, ['index_by_user'], { owner: 'another', leaseMs: 1_000, pollMs: 100 }, {})
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
  })

  it('is swept at first, and again when it is due', async () => {
    const keeper = await keep([byUser])
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    const first = (await finishedAt('index_by_user'))!
    expect(first).toBeGreaterThan(0)
    time.leap(first + HOUR - 1 - time.now())
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
    time.leap(1)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    expect(await finishedAt('index_by_user')).toBe(first + HOUR)
  })

  it('is swept with all others that are due', async () => {
    const keeper = await keep([byUser, byTag])
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user', 'by_tag'])
    await keeper.ended()
  })

  it('is not swept while another sweep is under way', async () => {
    const keeper = await keep([byUser])
    const goesOn = Promise.withResolvers<void>()
    plan = ({ operation }) => (operation === 'pageByAdded' ? { before: () => goesOn.promise } : undefined)
    await keeper.startDue({})
    const other = await openStore({ driver, indexes: [byUser, byTag], time })
    plan = () => undefined
    const filled = await keepFilled(other)
    // The other one is due as well.
    time.leap(HOUR)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    goesOn.resolve()
    await Promise.all([keeper.ended(), filled])
  })

  it('an index is swept in time although the end of its last sweep is still to come', async () => {
    const keeper = await keep([byUser])
    time.leap(30 * HOUR)
    await keeper.startDue({})
    await keeper.ended()
    // That was the clock, which is put right.
    time.leap(-30 * HOUR)
    const before = await finishedAt('index_by_user')
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    expect(await finishedAt('index_by_user')).toBeLessThan(before!)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
  })

  it('that another process has begun to sweep, and left, is gone on with', async () => {
    const controller = new AbortController()
    const keeper = await keep([byUser], controller.signal)
    plan = ({ operation }) => (operation === 'pageByAdded' ? { before: () => controller.abort() } : undefined)
    await keeper.startDue({})
    await keeper.ended()
    expect(errors).toEqual([])
    expect((await loadRuns(store.context, ['index_by_user'])).get('index_by_user')).toMatchObject({
      state: 'running',
    })
    plan = () => undefined
    const next = await keep([byUser])
    await next.startDue({})
    expect(next.sweeping).toEqual(['by_user'])
    await next.ended()
    expect(await finishedAt('index_by_user')).toBeGreaterThan(0)
  })

  it('is tried again later where its sweep has failed', async () => {
    const keeper = await keep([byUser])
    plan = away
    await keeper.startDue({})
    await keeper.ended()
    expect(errors).toHaveLength(1)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
  })
})

/** Makes every index of a store ready by hand. */
async function keepFilled(other: DataStore): Promise<void> {
  const keeper = createIndexKeeper(
    other.context,
    { signal: new AbortController().signal, sweepEveryMs: 1e12, settleMs: 0 },
    {},
    (error) => errors.push(error),
  )
  await keeper.startDue({})
  await keeper.ended()
}
