import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { steppedTime, until, type SteppedTime } from '@looseleaf-tooling/kit/times'
import type { CleanProgress } from '../clean/progress.ts'
import type { Problem } from '../pass/pass-options.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import type { Tuned } from '../pass/tuning.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startTunedCleaner, type Cleaner } from './start-cleaner.ts'

const NEVER = 1e12
const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')

let time: SteppedTime
let sleeps: number[]
let store: DataStore
let plan: FaultPlan
let errors: unknown[]

beforeEach(async () => {
  time = steppedTime()
  sleeps = []
  errors = []
  plan = () => undefined
  const reference = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  store = await openStore({
    driver: faultyDriver(reference, (call) => plan(call)),
    indexes: [byUser, byTag],
    time: {
      now: time.now,
      sleep(milliseconds, signal) {
        sleeps.push(milliseconds)
        return time.sleep(milliseconds, signal)
      },
    },
    onIndexFailure: 'defer',
  })
})

/** Starts a cleaner, and waits for its first pauses. */
async function start(options: Tuned<CleanerOptions> = {}): Promise<Cleaner> {
  sleeps.length = 0
  const cleaner = begin(options)
  await until(() => sleeps.length >= 4 && cleaner.status().sweeping.length === 0)
  return cleaner
}

function begin(options: Tuned<CleanerOptions> = {}): Cleaner {
  const cleaner = startTunedCleaner(store, { onError: (error) => errors.push(error), ...options })
  onTestFinished(() => cleaner.stop())
  return cleaner
}

/** Lets work proceed that needs no time. */
async function waitTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Holds calls of this operation until they are released. */
function hold(operation: string): { calls: number; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = { calls: 0, release: resolve }
  plan = (call) => {
    if (call.operation !== operation) return undefined
    held.calls++
    return { before: () => promise }
  }
  return held
}

/** A bag whose indexed property has the wrong type. */
const misfit = (id: string): { id: string; user_id: number; published: number } => ({
  id,
  user_id: 7,
  published: 1,
})

describe('onProblem', () => {
  it('`onProblem` is called with problems of a round', async () => {
    const problems: Problem[] = []
    await start({ onProblem: (problem) => problems.push(problem) })
    const { id } = await store.put(misfit(store.newId()))
    expect(problems).toEqual([])
    await time.step(2_000)
    expect(problems).toMatchObject([{ kind: 'misfit', entity: id, index: 'by_user' }])
  })

  it('`onProblem` is called with problems of a sweep', async () => {
    const problems: Problem[] = []
    const { id } = await store.put(misfit(store.newId()))
    // The first round does not look back this far.
    await time.step(1_000)
    await start({ onProblem: (problem) => problems.push(problem), lookBackMs: 1 })
    expect(problems.map(({ entity }) => entity)).toContain(id)
  })
})

describe('progress of sweeps', () => {
  it('`onProgress` is called during a sweep, and `status` has the latest progress of each shard', async () => {
    for (let i = 0; i < 5; i++) await store.put({ user_id: 'ada', published: i })
    const reports: CleanProgress[] = []
    const cleaner = await start({ onProgress: (progress) => void reports.push(progress) })
    const { progress } = cleaner.status()
    expect(progress.map(({ shard, phase }) => [shard, phase])).toEqual([
      [0, 'ready'],
      [1, 'ready'],
    ])
    for (const last of progress) expect(last).toBe(reports.findLast(({ shard }) => shard === last.shard))
    expect(reports.length).toBeGreaterThan(progress.length)
  })

  it('`status` has the shards in order, also if a later one has reported first', async () => {
    await store.put({ user_id: 'ada', published: 1 }, { id: idOn(store, 1) })
    const { promise, resolve } = Promise.withResolvers<void>()
    plan = ({ shard, operation }) =>
      shard === 0 && operation === 'pageByAdded' ? { before: () => promise } : undefined
    const cleaner = begin({ onProgress: () => resolve() })
    await until(() => cleaner.status().progress.length === 2)
    expect(cleaner.status().progress.map(({ shard }) => shard)).toEqual([0, 1])
  })

  it('`status` has the progress without `onProgress`', async () => {
    const cleaner = await start()
    expect(cleaner.status().progress.map(({ shard }) => shard)).toEqual([0, 1])
  })
})

describe('stop', () => {
  it.each([
    ['a round', 'pageByUpdated'],
    ['a drain of deferred rows', 'page'],
    ['a sweep', 'pageByAdded'],
  ])('`stop` waits for %s in flight', async (_, operation) => {
    const held = hold(operation)
    const cleaner = begin()
    await until(() => held.calls > 0)
    let isStopped = false
    const stopped = cleaner.stop().then(() => (isStopped = true))
    await waitTurns()
    expect(isStopped).toBe(false)
    held.release()
    await stopped
  })

  it('`stop` releases the shards at once, and saves the last error in the report', async () => {
    const cleaner = await start({ catalogMs: NEVER })
    plan = ({ operation }) => (operation === 'page' ? { before: () => Promise.reject(away) } : undefined)
    await time.step(1_000)
    plan = () => undefined
    expect((await readCleanerReport(store)).lastError).toBeUndefined()
    await cleaner.stop()
    expect((await readCleanerReport(store)).lastError).toMatchObject({ message: 'Away.' })
    const other = await start()
    expect(other.status().shards.map(({ isMine }) => isMine)).toEqual([true, true])
  })

  it('`stop` resolves even if no progress can be saved', async () => {
    const cleaner = await start()
    plan = () => ({ before: () => Promise.reject(away) })
    await cleaner.stop()
    expect(cleaner.status().isRunning).toBe(false)
  })
})

describe('deferred rows', () => {
  it('only one round at a time drains deferred rows', async () => {
    await start()
    const held = hold('page')
    await time.step(1_000)
    const { calls } = held
    expect(calls).toBeGreaterThan(0)
    await time.step(1_000)
    await time.step(1_000)
    expect(held.calls).toBe(calls)
    held.release()
  })

  it('an error of draining deferred rows is reported', async () => {
    await start()
    plan = ({ operation }) => (operation === 'page' ? { before: () => Promise.reject(away) } : undefined)
    await time.step(1_000)
    expect(errors).toEqual([away])
  })
})

describe('a missing table', () => {
  const gone = new LooseleafError('INDEX_NOT_FOUND', 'The table is gone.')
  const missingTable: FaultPlan = ({ operation }) =>
    operation === 'rowsOf' ? { before: () => Promise.reject(gone) } : undefined

  it('a missing table of an existing index is an error, and the round is retried', async () => {
    const cleaner = await start({ sweepEveryMs: NEVER })
    await store.put({ user_id: 'ada', published: 1 })
    plan = missingTable
    await time.step(2_000)
    expect(errors).toEqual([gone])
    expect(sleeps).toContain(500)
    // The entities read count although the round failed.
    expect(cleaner.status().totals.entities).toBe(1)
    plan = () => undefined
    await time.step(500)
    expect(errors).toEqual([gone])
  })

  it.each([
    ['a missing table of a dropped index is no error, and the next round begins at once', undefined, []],
    ['a dropped index does not hide another error', away, [away]],
  ])('%s', async (_, error, reported) => {
    await start({ sweepEveryMs: NEVER, catalogMs: NEVER })
    const other = await openStore({ driver: store.context.driver, indexes: [] })
    await store.put({ user_id: 'ada', published: 1 })
    await other.dropIndex('by_user')
    if (error !== undefined)
      plan = ({ operation }) =>
        operation === 'pageByUpdated' ? { before: () => Promise.reject(error) } : undefined
    sleeps.length = 0
    await time.step(2_000)
    expect([...new Set(errors)]).toEqual(reported)
    expect(sleeps.includes(0)).toBe(error === undefined)
  })
})
