import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createThrottle } from '@looseleaf/protocol/internal'
import { byTag, byUser, openStore, removeRow, rowFor } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import type { SharedByWork } from '../clean/clean-index.ts'
import { joinRuns, loadRuns } from '../clean/run-record.ts'
import type { Tally } from '../pass/tally.ts'
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
  shared: SharedByWork = {},
): Promise<IndexKeeper> {
  store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time, indexes })
  const options = { signal, sweepEveryMs: HOUR, settleMs: 0 }
  return createIndexKeeper(store.context, options, shared, (error) => errors.push(error))
}

const finishedAt = async (table: string): Promise<number | undefined> =>
  (await loadRuns(store.context, [table])).get(table)?.finishedAt

/** Adds an index in another process. */
async function addElsewhere(definition: typeof byUser): Promise<void> {
  await (await openStore({ driver, indexes: [], time })).addIndex(definition)
}

/** Makes each read of entity pages fail. */
const failReads: FaultPlan = ({ operation }) =>
  operation === 'pageByAdded'
    ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
    : undefined

describe('an index that is being built', () => {
  it('an index is filled even by a process that did not know it', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    await keeper.startDue({})
    expect([keeper.filling, keeper.sweeping]).toEqual([['by_user'], []])
    await keeper.ended()
    expect([keeper.filling, keeper.sweeping]).toEqual([[], []])
    expect(await store.indexes()).toMatchObject([{ name: 'by_user', state: 'ready' }])
  })

  it('an index that is being filled is not filled a second time', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    await keeper.startDue({})
    await keeper.startDue({})
    expect(keeper.filling).toEqual(['by_user'])
    await keeper.ended()
  })

  it('an index is filled while other indexes are swept', async () => {
    const keeper = await keep([byUser])
    const resume = Promise.withResolvers<void>()
    plan = ({ operation }) => (operation === 'pageByAdded' ? { before: () => resume.promise } : undefined)
    await keeper.startDue({})
    await addElsewhere(byTag as never)
    await keeper.startDue({})
    expect([keeper.filling, keeper.sweeping]).toEqual([['by_tag'], ['by_user']])
    resume.resolve()
    await keeper.ended()
    expect((await store.indexes()).map(({ state }) => state)).toEqual(['ready', 'ready'])
  })

  it('a failed filling is reported, and retried with growing pauses', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    plan = failReads
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

describe('a run of the keeper', () => {
  it('a filling begins only after every shard knows the index', async () => {
    const keeper = await keep([])
    await addElsewhere(byUser)
    // The process that added the index died between two shards.
    const { catalog } = driver.shards[1]!
    const { epoch, ...rest } = (await catalog.load())!
    await catalog.change({ ...rest, indexes: [], epoch: epoch - 1 }, epoch)
    const indexCounts: number[] = []
    plan = ({ operation }) =>
      operation === 'pageByAdded'
        ? { before: async () => void indexCounts.push((await catalog.load())!.indexes.length) }
        : undefined
    await keeper.startDue({})
    await keeper.ended()
    expect(new Set(indexCounts)).toEqual(new Set([1]))
  })

  it('a sweep reads the entities once', async () => {
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

  it('fillings and sweeps share a throttle, and count rows that were missing', async () => {
    const bag = { user_id: 'ada', published: 1, tags: ['x'] }
    const added: number[] = []
    const onWork = (tally: Tally): void => void added.push(tally.added)
    const sum = (): number => added.splice(0).reduce((total, count) => total + count, 0)
    const keeper = await keep([byUser], undefined, { throttle: createThrottle(time, 1), onWork })
    const { id } = await store.put(bag)
    await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
    const before = time.slept
    await keeper.startDue({})
    await keeper.ended()
    // One entity and one row are read.
    expect([sum(), time.slept - before]).toEqual([1, 2_000])
    // A sweep from the start rewrites rows, and a filling writes all.
    await addElsewhere(byTag as never)
    await keeper.startDue({}, time.now() + 1)
    expect([keeper.filling, keeper.sweeping]).toEqual([['by_tag'], ['by_user']])
    await keeper.ended()
    expect(sum()).toBe(0)
  })

  it('a success resets the pause before a retry', async () => {
    const keeper = await keep([byUser])
    for (let round = 0; round < 2; round++) {
      plan = failReads
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
  it('a run that another process began and left is resumed, even just after a sweep', async () => {
    const keeper = await keep([byUser])
    await keeper.startDue({})
    await keeper.ended()
    await joinRuns(store.context, ['index_by_user'], { owner: 'another', leaseMs: 1_000, pollMs: 100 }, {})
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
  })

  it('a ready index is swept at the start, and again when that is due', async () => {
    const keeper = await keep([byUser])
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    const record = (await loadRuns(store.context, ['index_by_user'])).get('index_by_user')!
    const first = record.finishedAt
    expect(first).toBeGreaterThan(0)
    expect(record.rewrites).toBe(false)
    time.leap(first + HOUR - 1 - time.now())
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
    time.leap(1)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    expect(await finishedAt('index_by_user')).toBe(first + HOUR)
  })

  it('a ready index is swept together with all others that are due', async () => {
    const keeper = await keep([byUser, byTag])
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user', 'by_tag'])
    await keeper.ended()
  })

  it('a ready index is not swept while another sweep runs', async () => {
    const keeper = await keep([byUser])
    const resume = Promise.withResolvers<void>()
    plan = ({ operation }) => (operation === 'pageByAdded' ? { before: () => resume.promise } : undefined)
    await keeper.startDue({})
    const other = await openStore({ driver, indexes: [byUser, byTag], time })
    plan = () => undefined
    const filled = await fillAll(other)
    // The other index is due as well.
    time.leap(HOUR)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    resume.resolve()
    await Promise.all([keeper.ended(), filled])
  })

  it('an index is swept in time even if its last sweep ended in the future', async () => {
    const keeper = await keep([byUser])
    time.leap(30 * HOUR)
    await keeper.startDue({})
    await keeper.ended()
    // The clock was ahead, and is corrected.
    time.leap(-30 * HOUR)
    const before = await finishedAt('index_by_user')
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual(['by_user'])
    await keeper.ended()
    expect(await finishedAt('index_by_user')).toBeLessThan(before!)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
  })

  it('a sweep that another process began and left is resumed', async () => {
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

  it('a sweep from the start raises the epochs, which its process knows when it begins', async () => {
    const keeper = await keep([byUser])
    const { catalog } = store.context
    const before = catalog.current().epochs
    let known: readonly number[] | undefined
    plan = ({ table, operation }) =>
      table === 'tasks' && operation === 'claimAll'
        ? { before: () => void (known ??= catalog.current().epochs) }
        : undefined
    await keeper.startDue({}, time.now() + 1)
    await keeper.ended()
    const after = await Promise.all(driver.shards.map(async (shard) => (await shard.catalog.load())!.epoch))
    expect(after.map((epoch, shard) => epoch > before[shard]!)).toEqual([true, true])
    expect(known).toEqual(after)
  })

  it('a failed sweep is not retried at once', async () => {
    const keeper = await keep([byUser])
    plan = failReads
    await keeper.startDue({})
    await keeper.ended()
    expect(errors).toHaveLength(1)
    await keeper.startDue({})
    expect(keeper.sweeping).toEqual([])
  })
})

/** Fills every index of a store. */
async function fillAll(other: DataStore): Promise<void> {
  const keeper = createIndexKeeper(
    other.context,
    { signal: new AbortController().signal, sweepEveryMs: 1e12, settleMs: 0 },
    {},
    (error) => errors.push(error),
  )
  await keeper.startDue({})
  await keeper.ended()
}
