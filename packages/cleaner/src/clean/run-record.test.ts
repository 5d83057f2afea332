import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { emptyTally } from '../pass/tally.ts'
import {
  finishRuns,
  isForgotten,
  joinRuns,
  loadRuns,
  runTask,
  type RunRecord,
  type RunWorker,
} from './run-record.ts'

const TABLE = 'index_by_user'
const worker: RunWorker = { owner: 'a', leaseMs: 5_000, pollMs: 7 }

let context: EngineContext
let time: LeapingTime
let plan: FaultPlan

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  // The shard uses the clock of the process.
  const driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  const store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time })
  context = store.context
})

const load = async (): Promise<RunRecord | undefined> => (await loadRuns(context, [TABLE])).get(TABLE)
const join = async (options: { restart?: boolean } = {}, owner = 'a'): Promise<RunRecord> =>
  (await joinRuns(context, [TABLE], { ...worker, owner }, options)).get(TABLE)!
const finish = (run: string, added: number): Promise<void> =>
  finishRuns(
    context,
    new Map([[TABLE, { run, tally: { ...emptyTally(), added }, filled: true }]]),
    worker,
    {},
  )

describe('a run', () => {
  it('a run is begun by the first worker, and joined by workers that arrive while it is open', async () => {
    expect(await load()).toBeUndefined()
    const first = await join()
    expect(first).toMatchObject({
      number: 1,
      state: 'running',
      rewrites: false,
      startedAt: time.now(),
      finishedAt: 0,
      tally: emptyTally(),
      filled: false,
    })
    expect(await load()).toEqual(first)
    time.leap(1_000)
    expect(await join()).toEqual(first)
    expect(await join({ restart: false })).toEqual(first)
  })

  it('a complete run is followed by a new one, which keeps the outcome of the run before', async () => {
    const first = await join()
    time.leap(1_000)
    await finish(first.run, 3)
    const done = { state: 'done', filled: true, finishedAt: time.now(), tally: { ...emptyTally(), added: 3 } }
    expect(await load()).toEqual({ ...first, ...done })
    time.leap(1_000)
    const second = await join()
    expect(second).toMatchObject({ ...done, state: 'running', number: 2, startedAt: time.now() })
    expect(second.run).not.toBe(first.run)
  })

  it('`restart` replaces an open run by one that rewrites every row', async () => {
    const first = await join()
    const second = await join({ restart: true })
    expect(second).toMatchObject({ number: 2, state: 'running', rewrites: true })
    expect(second.run).not.toBe(first.run)
    expect(await join()).toEqual(second)
  })

  it('a run is ended once, and only by a worker of the same run', async () => {
    const first = await join()
    await finish('another', 1)
    expect(await load()).toEqual(first)
    await finish(first.run, 3)
    const done = await load()
    time.leap(1_000)
    await finish(first.run, 4)
    expect(await load()).toEqual(done)
  })

  it('ending a run without a record has no effect', async () => {
    await finish('any', 1)
    expect(await load()).toBeUndefined()
  })

  it('a run starts over if the record is not readable', async () => {
    const { tasks } = context.driver.shards[0]!
    for (const text of ['nonsense', '{"state":"running"}', '{"run":1}']) {
      await tasks.claim(runTask(TABLE), 'b', 1_000)
      await tasks.save(runTask(TABLE), 'b', text, 0)
      expect(await load()).toBeUndefined()
      expect(await join()).toMatchObject({ number: 1, state: 'running' })
    }
  })
})

describe('changes of a record', () => {
  it('changes of a record wait for each other', async () => {
    const { tasks } = context.driver.shards[0]!
    await tasks.claim(runTask(TABLE), 'b', 20)
    await join()
    // The worker sleeps 7 ms three times, until the other lease has expired.
    expect(time.slept).toBe(21)
  })

  it('a change of a record is repeated if another worker came in between', async () => {
    let other: RunRecord | undefined
    plan = ({ table, operation }) => {
      if (table !== 'tasks' || operation !== 'saveAll') return undefined
      plan = () => undefined
      return {
        async before() {
          time.leap(worker.leaseMs + 1)
          other = await join({}, 'b')
        },
      }
    }
    const joined = await join()
    expect(other).toBeDefined()
    expect(joined).toEqual(other)
  })

  it('changes of the records of several indexes do not wait for each other', async () => {
    const { tasks } = context.driver.shards[0]!
    await tasks.claim(runTask(TABLE), 'b', 20)
    const saved: number[] = []
    plan = ({ operation }) =>
      operation === 'saveAll' ? { before: () => void saved.push(time.slept) } : undefined
    const records = await joinRuns(context, ['index_by_tag', TABLE], worker, {})
    expect([...records.keys()].toSorted()).toEqual(['index_by_tag', TABLE])
    expect([saved[0], saved.at(-1)]).toEqual([0, 21])
  })

  it('a change of a record releases it at once', async () => {
    await join()
    expect(await context.driver.shards[0]!.tasks.load(runTask(TABLE))).toMatchObject({ owner: undefined })
  })
})

test.each<[boolean, string, Partial<RunRecord> | undefined]>([
  [false, 'the run itself', {}],
  [false, 'a later run', { run: 'b', number: 6 }],
  [true, 'no run', undefined],
  [true, 'an earlier run', { run: 'b', number: 4 }],
  [true, 'another run with the same number', { run: 'b', number: 5 }],
])('`isForgotten` is %s if the record is of %s', (forgotten, _, record) => {
  const stored: RunRecord = {
    run: 'a',
    number: 5,
    state: 'running',
    rewrites: false,
    startedAt: 1,
    finishedAt: 0,
    tally: emptyTally(),
    filled: false,
  }
  expect(isForgotten(stored, record && { ...stored, ...record })).toBe(forgotten)
})
