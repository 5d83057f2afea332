import { createReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { inBackground, systemTime, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { byUser, openStore } from '../../test/stores.ts'
import { steppedTime, until, type SteppedTime } from '../../test/times.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startCleaner, type Cleaner } from './start-cleaner.ts'

const HOUR = 3_600_000

let stepped: SteppedTime
let sleeps: number[]
let store: DataStore
let plan: FaultPlan
/** From when on updates are read, in milliseconds before now. */
let readFrom: number[]
/** Lease times with which the shard is claimed. */
let leases: unknown[]
let rounds: number

beforeEach(async () => {
  stepped = steppedTime()
  sleeps = []
  readFrom = []
  leases = []
  rounds = 0
  plan = () => undefined
  const time: Time = {
    now: stepped.now,
    sleep(milliseconds, signal) {
      sleeps.push(milliseconds)
      return stepped.sleep(milliseconds, signal)
    },
  }
  const reference = createReferenceDriver({ shards: 1, now: () => stepped.now() * 1000 })
  const driver = faultyDriver(reference, (call) => {
    const { operation, args } = call
    if (operation === 'pageByUpdated') {
      const [{ since, before }] = args as [{ since: number; before?: unknown }]
      // Each round asks first whether anything stands above the floor.
      if (before === undefined) rounds++
      // To the millisecond: a floor is a microsecond above its time.
      if (before !== undefined) readFrom.push(Math.round(stepped.now() - since / 1000))
    }
    if (operation === 'claim' && args[0] === 'clean-tail') leases.push(args[2])
    return plan(call)
  })
  store = await openStore({ driver, time, indexes: [byUser] })
})

/** A cleaner whose loops have all come to their first pause. */
async function start(options?: CleanerOptions): Promise<Cleaner> {
  const cleaner = startCleaner(store, options)
  onTestFinished(() => cleaner.stop())
  await until(() => sleeps.length >= 3 && cleaner.status().sweeping.length === 0)
  return cleaner
}

const NONE: CleanerOptions = {}

describe('pauses', () => {
  it.each([
    ['by default', NONE, [1_000, 2_000, 3_000], [2_000, 4_000, 5_000, 5_000]],
    [
      'as they are given',
      { intervalMs: 100, idleIntervalMs: 350, catalogMs: 700 },
      [100, 200, 700],
      [200, 350, 350],
    ],
    ['where nothing is to be longer', { intervalMs: 900, idleIntervalMs: 10 }, [900, 900, 3_000], [900, 900]],
  ])('%s', async (_, options, first, ofTail) => {
    await start(options)
    expect(sleeps.toSorted((a, b) => a - b)).toEqual(first)
    const seen: number[] = []
    for (const pause of ofTail) {
      seen.push(rounds)
      await stepped.step(pause)
    }
    // A round each.
    expect(seen).toEqual(ofTail.map((__, i) => i + 1))
    expect(rounds).toBe(ofTail.length + 1)
  })

  it('are as at first again when something was written', async () => {
    const cleaner = await start()
    for (const pause of [2_000, 4_000]) await stepped.step(pause)
    await store.put({ user_id: 'ada', published: 1 })
    sleeps.length = 0
    await stepped.step(5_000)
    expect(cleaner.status().totals.entities).toBe(1)
    expect(sleeps.filter((each) => each === 2_000)).toEqual([])
    const before = rounds
    await stepped.step(1_000)
    expect(rounds).toBe(before + 1)
  })
})

describe('the first round', () => {
  it.each([
    ['an hour', NONE, HOUR],
    ['as far as it is to', { lookBackMs: 60_000 }, 60_000],
    ['no further than what is left to sweeps', { maxLagMs: 5_000 }, 5_000],
    ['no further than a day', { lookBackMs: 1_000 * HOUR }, 24 * HOUR],
  ])('looks back %s', async (_, options, back) => {
    await start(options)
    expect(readFrom[0]).toBe(back)
  })

  it.each([
    ['half a minute', NONE, 30_000],
    ['as long as it is to', { leaseMs: 7_000 }, 7_000],
  ])('takes the shard for %s', async (_, options, lease) => {
    await start(options)
    expect(leases).toEqual([lease])
  })

  it.each([
    ['leaves what is too much, and the next comes at once', { rowsPerRound: 1 }, true],
    ['reads 5,000 otherwise', NONE, false],
  ])('%s', async (_, options, isLeft) => {
    await store.putMany(Array.from({ length: 600 }, (__, i) => ({ user_id: 'ada', published: i })))
    sleeps.length = 0
    const cleaner = await start(options)
    const [shard] = cleaner.status().shards
    expect(shard!.lagMs > 0).toBe(isLeft)
    expect(sleeps.includes(0)).toBe(isLeft)
    expect(shard!.lastRoundAt).toEqual(new Date(stepped.now()))
    expect(shard!.isMine).toBe(true)
  })
})

it('an index is swept once a day', async () => {
  let sweeps = 0
  plan = ({ operation }) => {
    if (operation === 'pageByAdded') sweeps++
    return undefined
  }
  await start({ intervalMs: HOUR, idleIntervalMs: HOUR, catalogMs: HOUR })
  expect(sweeps).toBe(1)
  for (let hour = 1; hour < 24; hour++) await stepped.step(HOUR)
  expect(sweeps).toBe(1)
  await stepped.step(HOUR)
  await stepped.step(HOUR)
  expect(sweeps).toBe(2)
})

it.each([
  ['does not keep the process running', systemTime, NONE, true],
  ['does not where it is not to', systemTime, { keepAlive: false }, true],
  ['does so where it is to', systemTime, { keepAlive: true }, false],
  ['leaves any other time as it is', { ...systemTime }, NONE, false],
])('a pause %s', async (_, time, options, isQuiet) => {
  const forever = (__: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }))
  const quiet = vi.spyOn(inBackground(systemTime), 'sleep').mockImplementation(forever)
  const loud = vi.spyOn(time, 'sleep').mockImplementation(forever)
  onTestFinished(() => void vi.restoreAllMocks())
  const cleaner = startCleaner({ context: { ...store.context, time } }, options)
  await until(() => quiet.mock.calls.length + loud.mock.calls.length >= 3)
  expect(quiet.mock.calls.length > 0).toBe(isQuiet)
  expect(loud.mock.calls.length > 0).toBe(!isQuiet)
  await cleaner.stop()
})
