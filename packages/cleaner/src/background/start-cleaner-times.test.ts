import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import type { Time } from '@looseleaf/core'
import { inBackground, systemTime } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { byUser, openStore } from '../../test/stores.ts'
import { steppedTime, until, type SteppedTime } from '@looseleaf-tooling/kit/times'
import { TUNING, type Tuned } from '../pass/tuning.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startTunedCleaner, type Cleaner } from './start-cleaner.ts'

const HOUR = 3_600_000

let stepped: SteppedTime
let sleeps: number[]
let store: DataStore
let plan: FaultPlan
/** Age in milliseconds of the oldest update that each read asks for. */
let readFrom: number[]
/** Lease times of the claims of the shard. */
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
      // Each round first asks whether a row is above the floor.
      if (before === undefined) rounds++
      // Rounded to milliseconds, because a floor is a microsecond above its time.
      if (before !== undefined) readFrom.push(Math.round(stepped.now() - since / 1000))
    }
    if (operation === 'claim' && args[0] === 'clean-tail') leases.push(args[2])
    return plan(call)
  })
  store = await openStore({ driver, time, indexes: [byUser] })
})

/** Starts a cleaner, and waits for the first pause of each of its loops. */
async function start(options?: Tuned<CleanerOptions>): Promise<Cleaner> {
  const cleaner = startTunedCleaner(store, options)
  onTestFinished(() => cleaner.stop())
  await until(() => sleeps.length >= 3 && cleaner.status().sweeping.length === 0)
  return cleaner
}

const NONE: Tuned<CleanerOptions> = {}
/** The check of options lets an undefined value of any name pass, so programs may give these. */
const UNDEFINED: Tuned<CleanerOptions> = Object.fromEntries(
  Object.keys(TUNING).map((name) => [name, undefined]),
)

describe('pauses', () => {
  it.each([
    ['pauses have defaults', NONE, [1_000, 2_000, 3_000], [2_000, 4_000, 5_000, 5_000]],
    [
      'a pause of undefined counts as left out',
      UNDEFINED,
      [1_000, 2_000, 3_000],
      [2_000, 4_000, 5_000, 5_000],
    ],
    [
      'pauses follow the options',
      { intervalMs: 100, idleIntervalMs: 350, catalogMs: 700 },
      [100, 200, 700],
      [200, 350, 350],
    ],
    [
      'an idle pause is never shorter than a busy one',
      { intervalMs: 900, idleIntervalMs: 10 },
      [900, 900, 3_000],
      [900, 900],
    ],
  ])('%s', async (_, options, first, ofTail) => {
    await start(options)
    expect(sleeps.toSorted((a, b) => a - b)).toEqual(first)
    const seen: number[] = []
    for (const pause of ofTail) {
      seen.push(rounds)
      await stepped.step(pause)
    }
    // There is one round per pause.
    expect(seen).toEqual(ofTail.map((__, i) => i + 1))
    expect(rounds).toBe(ofTail.length + 1)
  })

  it('the pauses grow while another process follows the shard', async () => {
    const [shard] = store.context.driver.shards
    await shard!.tasks.claim('clean-tail', 'another', 300_000)
    leases.length = 0
    await start()
    for (const [pause, claims] of [
      [1_999, 1],
      [1, 2],
      [3_999, 2],
      [1, 3],
    ] as const) {
      await stepped.step(pause)
      expect(leases).toHaveLength(claims)
    }
  })

  it('a write resets the pauses', async () => {
    const cleaner = await start()
    for (const pause of [2_000, 4_000]) await stepped.step(pause)
    await store.put({ user_id: 'ada', published: 1 })
    sleeps.length = 0
    await stepped.step(5_000)
    expect(cleaner.status().totals.entities).toBe(1)
    expect(sleeps.filter((pause) => pause === 2_000)).toEqual([])
    const before = rounds
    await stepped.step(1_000)
    expect(rounds).toBe(before + 1)
  })
})

describe('the first round', () => {
  it.each([
    ['an hour', NONE, HOUR],
    ['an hour if `lookBackMs` is undefined', UNDEFINED, HOUR],
    ['as far as `lookBackMs`', { lookBackMs: 60_000 }, 60_000],
    ['no further than `maxLagMs`', { maxLagMs: 5_000 }, 5_000],
    ['no further than a day', { lookBackMs: 1_000 * HOUR }, 24 * HOUR],
  ])('the first round looks back %s', async (_, options, back) => {
    await start(options)
    expect(readFrom[0]).toBe(back)
  })

  it.each([
    ['half a minute', NONE, 30_000],
    ['`leaseMs`', { leaseMs: 7_000 }, 7_000],
  ])('the first round claims the shard for %s', async (_, options, lease) => {
    await start(options)
    expect(leases).toEqual([lease])
  })

  it.each([
    [
      'a round leaves entities above `rowsPerRound` to the next one, which begins at once',
      { rowsPerRound: 1 },
      true,
    ],
    ['a round reads 5,000 entities by default', NONE, false],
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
  ['does not keep the process alive by default', systemTime, NONE, true],
  ['does not keep the process alive with `keepAlive: false`', systemTime, { keepAlive: false }, true],
  ['keeps the process alive with `keepAlive: true`', systemTime, { keepAlive: true }, false],
  ['uses a custom time as it is', { ...systemTime }, NONE, false],
])('a pause %s', async (_, time, options, isQuiet) => {
  const neverEnds = (__: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }))
  const quiet = vi.spyOn(inBackground(systemTime), 'sleep').mockImplementation(neverEnds)
  const loud = vi.spyOn(time, 'sleep').mockImplementation(neverEnds)
  onTestFinished(() => void vi.restoreAllMocks())
  const cleaner = startTunedCleaner({ context: { ...store.context, time } }, options)
  const used = isQuiet ? quiet : loud
  // Each of the three loops pauses. Cleaners of other tests in this process may use the quiet time, too.
  await until(() => used.mock.calls.length >= 3)
  expect(loud.mock.calls.length > 0).toBe(!isQuiet)
  await cleaner.stop()
})
