import { createReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { steppedTime, until, type SteppedTime } from '../../test/times.ts'
import type { CleanProgress } from '../clean/progress.ts'
import type { Problem } from '../pass/pass-options.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startCleaner, type Cleaner } from './start-cleaner.ts'

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

/** A cleaner, and when it has come to its first pauses. */
async function start(options: CleanerOptions = {}): Promise<Cleaner> {
  sleeps.length = 0
  const cleaner = begin(options)
  await until(() => sleeps.length >= 4 && cleaner.status().sweeping.length === 0)
  return cleaner
}

function begin(options: CleanerOptions = {}): Cleaner {
  const cleaner = startCleaner(store, { onError: (error) => errors.push(error), ...options })
  onTestFinished(() => cleaner.stop())
  return cleaner
}

/** Lets whatever goes on without a change of time go on. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Calls of this operation wait until they are let go. */
function hold(operation: string): { calls: number; letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = { calls: 0, letGo: resolve }
  plan = (call) => {
    if (call.operation !== operation) return undefined
    held.calls++
    return { before: () => promise }
  }
  return held
}

/** The property of the index is of another type. */
const misfit = (id: string): { id: string; user_id: number; published: number } => ({
  id,
  user_id: 7,
  published: 1,
})

describe('onProblem', () => {
  it('is told of what a round meets', async () => {
    const problems: Problem[] = []
    await start({ onProblem: (problem) => problems.push(problem) })
    const { id } = await store.put(misfit(store.newId()))
    expect(problems).toEqual([])
    await time.step(2_000)
    expect(problems).toMatchObject([{ kind: 'misfit', entity: id, index: 'by_user' }])
  })

  it('is told of what a sweep meets', async () => {
    const problems: Problem[] = []
    const { id } = await store.put(misfit(store.newId()))
    // Rounds look for nothing that is so old.
    await time.step(1_000)
    await start({ onProblem: (problem) => problems.push(problem), lookBackMs: 1 })
    expect(problems.map(({ entity }) => entity)).toContain(id)
  })
})

describe('where sweeps stand', () => {
  it('is told as it goes on, and `status` has the last word of each shard', async () => {
    for (let i = 0; i < 5; i++) await store.put({ user_id: 'ada', published: i })
    const told: CleanProgress[] = []
    const cleaner = await start({ onProgress: (progress) => void told.push(progress) })
    const { progress } = cleaner.status()
    expect(progress.map(({ shard, phase }) => [shard, phase])).toEqual([
      [0, 'ready'],
      [1, 'ready'],
    ])
    for (const last of progress) expect(last).toBe(told.findLast(({ shard }) => shard === last.shard))
    expect(told.length).toBeGreaterThan(progress.length)
  })

  it('is in `status` where nobody is told', async () => {
    const cleaner = await start()
    expect(cleaner.status().progress.map(({ shard }) => shard)).toEqual([0, 1])
  })
})

describe('stop', () => {
  it.each([
    ['a round', 'pageByUpdated'],
    ['a look at what is deferred', 'page'],
    ['a sweep', 'pageByAdded'],
  ])('waits for %s that is under way', async (_, operation) => {
    const held = hold(operation)
    const cleaner = begin()
    await until(() => held.calls > 0)
    let isStopped = false
    const stopped = cleaner.stop().then(() => (isStopped = true))
    await turns()
    expect(isStopped).toBe(false)
    held.letGo()
    await stopped
  })

  it('leaves shards to others at once, and what it has to tell in the report', async () => {
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

  it('resolves where nothing can be saved any more', async () => {
    const cleaner = await start()
    plan = () => ({ before: () => Promise.reject(away) })
    await cleaner.stop()
    expect(cleaner.status().isRunning).toBe(false)
  })
})

describe('what is deferred', () => {
  it('is looked for by one round at a time', async () => {
    await start()
    const held = hold('page')
    await time.step(1_000)
    const { calls } = held
    expect(calls).toBeGreaterThan(0)
    await time.step(1_000)
    await time.step(1_000)
    expect(held.calls).toBe(calls)
    held.letGo()
  })

  it('that cannot be looked for is told', async () => {
    await start()
    plan = ({ operation }) => (operation === 'page' ? { before: () => Promise.reject(away) } : undefined)
    await time.step(1_000)
    expect(errors).toEqual([away])
  })
})

describe('a table that is not there', () => {
  const gone = new LooseleafError('INDEX_NOT_FOUND', 'The table is gone.')
  const lacking: FaultPlan = ({ operation }) =>
    operation === 'rowsOf' ? { before: () => Promise.reject(gone) } : undefined

  it('is an error, which is tried again later, where its index was not dropped', async () => {
    const cleaner = await start({ sweepEveryMs: NEVER })
    await store.put({ user_id: 'ada', published: 1 })
    plan = lacking
    await time.step(2_000)
    expect(errors).toEqual([gone])
    expect(sleeps).toContain(500)
    // What was looked at counts, though the round did not end well.
    expect(cleaner.status().totals.entities).toBe(1)
    plan = () => undefined
    await time.step(500)
    expect(errors).toEqual([gone])
  })

  it.each([
    ['is none where its index was dropped, and the next round comes at once', undefined, []],
    ['does not keep another error from being told', away, [away]],
  ])('%s', async (_, error, told) => {
    await start({ sweepEveryMs: NEVER, catalogMs: NEVER })
    const other = await openStore({ driver: store.context.driver, indexes: [] })
    await store.put({ user_id: 'ada', published: 1 })
    await other.dropIndex('by_user')
    if (error !== undefined)
      plan = ({ operation }) =>
        operation === 'pageByUpdated' ? { before: () => Promise.reject(error) } : undefined
    sleeps.length = 0
    await time.step(2_000)
    expect([...new Set(errors)]).toEqual(told)
    expect(sleeps.includes(0)).toBe(error === undefined)
  })
})
