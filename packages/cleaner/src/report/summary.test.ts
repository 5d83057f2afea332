import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { TaskTable } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { emptyTally } from '../pass/tally.ts'
import { createReporter, readSummary } from './summary.ts'

let context: EngineContext
let time: LeapingTime
let tasks: TaskTable
let plan: FaultPlan
let saves: number

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  saves = 0
  const driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  tasks = driver.shards[0]!.tasks
  const counted = faultyDriver(driver, (call) => {
    if (call.table !== 'tasks' || call.operation !== 'save' || call.args[0] !== 'clean-report')
      return undefined
    saves++
    return plan(call)
  })
  context = (await openStore({ driver: counted, time })).context
})

const tallyOf = (added: number): ReturnType<typeof emptyTally> => ({ ...emptyTally(), entities: 10, added })

describe('the summary of a store', () => {
  it('the summary is empty before the first cleaner', async () => {
    expect(await readSummary(context)).toEqual({
      updatedAt: undefined,
      totals: emptyTally(),
      lastFoundAt: undefined,
      lastError: undefined,
      sweepEveryMs: undefined,
    })
  })

  it('the summary is the sum over all cleaners', async () => {
    const [reporterA, reporterB] = [
      createReporter(context, 'a', 60_000),
      createReporter(context, 'b', 60_000),
    ]
    reporterA.count(tallyOf(1))
    const foundAt = new Date(time.now())
    await reporterA.save()
    time.leap(1_000)
    reporterB.count(tallyOf(0))
    await reporterB.save()
    expect(await readSummary(context)).toEqual({
      updatedAt: new Date(time.now()),
      totals: { ...emptyTally(), entities: 20, added: 1 },
      lastFoundAt: foundAt,
      lastError: undefined,
      sweepEveryMs: 60_000,
    })
    expect(reporterA.totals).toEqual(tallyOf(1))
    reporterA.count({ ...emptyTally(), removed: 1 })
    await reporterA.save()
    expect(await readSummary(context)).toMatchObject({
      totals: { added: 1, removed: 1 },
      lastFoundAt: new Date(time.now()),
    })
  })

  it('the summary has the time of the last undecodable entity', async () => {
    const [reporterA, reporterB] = [
      createReporter(context, 'a', 60_000),
      createReporter(context, 'b', 60_000),
    ]
    reporterA.count({ ...emptyTally(), undecodable: 2 })
    const metAt = new Date(time.now())
    await reporterA.save()
    time.leap(1_000)
    reporterB.count(tallyOf(1))
    await reporterB.save()
    expect(await readSummary(context)).toMatchObject({ lastUndecodableAt: metAt, totals: { undecodable: 2 } })
    // A filling reports an undecodable entity by this error.
    reporterB.recordError(new LooseleafError('BODY_UNKNOWN', 'A stored body is whole, but in format 9.'))
    await reporterB.save()
    expect(await readSummary(context)).toMatchObject({ lastUndecodableAt: new Date(time.now()) })
  })

  it('the summary has the last error of any cleaner', async () => {
    const [reporterA, reporterB] = [
      createReporter(context, 'a', 60_000),
      createReporter(context, 'b', 60_000),
    ]
    expect(reporterA.lastError).toBeUndefined()
    reporterA.recordError(new LooseleafError('SHARD_UNAVAILABLE', 'Shard 1 is away.'))
    const away = { at: new Date(time.now()), code: 'SHARD_UNAVAILABLE', message: 'Shard 1 is away.' }
    expect(reporterA.lastError).toEqual(away)
    await reporterA.save()
    await reporterB.save()
    expect((await readSummary(context)).lastError).toEqual(away)
  })

  it('the summary does not contain the message of an unknown error', async () => {
    const reporter = createReporter(context, 'a', 60_000)
    const report = (error: unknown): unknown => {
      reporter.recordError(error)
      return reporter.lastError
    }
    expect(report(new TypeError('secret'))).toMatchObject({ code: 'TypeError' })
    expect(report('secret')).toMatchObject({ code: 'Error' })
    expect(JSON.stringify(report(new TypeError('secret')))).not.toContain('secret')
  })

  it('a summary that cannot be read counts as empty', async () => {
    for (const text of ['nonsense', '{"lastError":7}', '{"lastError":{"at":1,"code":"x","message":"y"}}']) {
      await tasks.claim('clean-report', 'x', 1_000)
      await tasks.save('clean-report', 'x', text, 0)
      expect(await readSummary(context)).toMatchObject({ updatedAt: undefined, lastError: undefined })
    }
    for (const [field, value] of [
      ['at', 1],
      ['code', 2],
      ['message', 3],
    ] as const) {
      const lastError = { at: '2026-01-01T00:00:00.000Z', code: 'a', message: 'b', [field]: value }
      await tasks.claim('clean-report', 'x', 1_000)
      await tasks.save('clean-report', 'x', JSON.stringify({ lastError }), 0)
      expect((await readSummary(context)).lastError).toBeUndefined()
    }
  })
})

describe('saving the summary', () => {
  it('a summary is saved at the start, then with news, and once a minute without', async () => {
    const reporter = createReporter(context, 'a', 60_000)
    await reporter.save()
    expect(saves).toBe(1)
    time.leap(59_999)
    await reporter.save()
    expect(saves).toBe(1)
    reporter.count(tallyOf(0))
    await reporter.save()
    expect(saves).toBe(1)
    time.leap(1)
    await reporter.save()
    expect(saves).toBe(2)
    for (const news of [
      { added: 1 },
      { removed: 1 },
      { fenced: 1 },
      { added: 1, removed: 1 },
      { added: 1, fenced: 1 },
      { undecodable: 1 },
    ]) {
      const before = saves
      reporter.count({ ...emptyTally(), ...news })
      await reporter.save()
      expect(saves).toBe(before + 1)
    }
    reporter.recordError(new Error('any'))
    await reporter.save()
    expect(saves).toBe(9)
  })

  it('counts that come during a save are saved by the next one', async () => {
    const reporter = createReporter(context, 'a', 60_000)
    reporter.count(tallyOf(1))
    plan = () => (saves === 1 ? { before: async () => reporter.count(tallyOf(2)) } : undefined)
    await reporter.save()
    expect((await readSummary(context)).totals).toEqual(tallyOf(1))
    await reporter.save()
    expect((await readSummary(context)).totals).toEqual({ ...emptyTally(), entities: 20, added: 3 })
  })

  it('a save is left to the next time while another process saves', async () => {
    const reporter = createReporter(context, 'a', 60_000)
    reporter.count(tallyOf(1))
    await tasks.claim('clean-report', 'b', 1_000)
    await reporter.save()
    expect(saves).toBe(0)
    await tasks.save('clean-report', 'b', '', 0)
    await reporter.save()
    expect((await readSummary(context)).totals).toEqual(tallyOf(1))
  })

  it.each([
    ['fails', { before: () => Promise.reject(new Error('away')) }],
    ['is overtaken by another process', { before: async () => void (await takeOver()) }],
  ])('a save that %s is repeated by the next reporter, and no count doubles', async (_, fault) => {
    const reporter = createReporter(context, 'a', 60_000)
    reporter.count(tallyOf(1))
    plan = () => (saves === 1 ? fault : undefined)
    await reporter.save().catch(() => {})
    expect((await readSummary(context)).totals).toEqual(emptyTally())
    reporter.count(tallyOf(2))
    await reporter.save()
    const sum = { ...emptyTally(), entities: 20, added: 3 }
    expect((await readSummary(context)).totals).toEqual(sum)
    expect(reporter.totals).toEqual(sum)
    time.leap(60_000)
    await reporter.save()
    expect((await readSummary(context)).totals).toEqual(sum)
  })
})

/** Another process claims the summary after the lease has expired, and releases it at once. */
async function takeOver(): Promise<void> {
  time.leap(5_000)
  await tasks.claim('clean-report', 'b', 1_000)
  await tasks.save('clean-report', 'b', '', 0)
}
