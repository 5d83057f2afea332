import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, describe, expect, it } from 'vitest'
import { byTag, byUser, openStore, removeRow, rowFor } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { cleanIndex } from '../clean/clean-index.ts'
import { partTask } from '../clean/part-lease.ts'
import type { Pace } from '../clean/pace.ts'
import { freshPart, partToText, type Part } from '../clean/part.ts'
import { emptyTally } from '../pass/tally.ts'
import type { IndexReport } from './index-report.ts'
import { joinRuns } from '../clean/run-record.ts'
import { readCleanerReport } from './cleaner-report.ts'
import { readWorkers } from './workers.ts'

const TABLE = 'index_by_user'
const WORKER = { owner: 'worker', leaseMs: 5_000, pollMs: 100 }

let driver: ReferenceDriver
let time: LeapingTime
let plan: FaultPlan
let store: DataStore

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  driver = createReferenceDriver({ shards: 3, now: () => time.now() * 1000 })
  store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time, indexes: [byUser] })
})

/** Saves a part. `leaseMs` is the remaining lease of its worker; 0 for a released part. */
async function savePart(shard: number, part: Part, leaseMs = 0): Promise<void> {
  const { tasks } = driver.shards[shard]!
  await tasks.claim(partTask(TABLE), 'worker', 5_000)
  await tasks.save(partTask(TABLE), 'worker', partToText(part), leaseMs)
}

/** Makes a shard answer all task statements with this error. */
function refuse(refusal: Error, on = 2): void {
  plan = ({ shard, table }) =>
    shard === on && table === 'tasks' ? { before: () => Promise.reject(refusal) } : undefined
}

describe('the report of an index', () => {
  it('the report has no run before the first', async () => {
    const { indexes } = await readCleanerReport(store)
    expect(indexes).toEqual([
      {
        index: 'by_user',
        generation: 1,
        state: 'ready',
        lastRun: undefined,
        inProgress: undefined,
        misfits: undefined,
      },
    ])
  })

  it('the report has the progress of each shard that answers', async () => {
    const record = (await joinRuns(store.context, [TABLE], WORKER, {})).get(TABLE)!
    await savePart(0, { ...freshPart(record.run), phase: 'dangling', seen: 5, total: 3 })
    await savePart(1, { ...freshPart('an earlier one'), phase: 'check', seen: 9, total: 9 })
    refuse(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
    const { indexes } = await readCleanerReport(store)
    const idle = { worker: undefined, rate: 0, throttledBy: undefined, waited: 0 }
    expect(indexes[0]!.inProgress).toEqual({
      startedAt: new Date(record.startedAt),
      savedAt: undefined,
      rate: 0,
      timeLeftMs: undefined,
      undecodable: 0,
      shards: [
        { shard: 0, phase: 'dangling', done: 5, total: 5, ...idle },
        { shard: 1, phase: 'waiting', done: 0, total: 0, ...idle },
        { shard: 2, phase: 'unknown', done: 0, total: 0, ...idle },
      ],
    })
  })

  it('the report has workers, rates and the time left of parts that are worked on', async () => {
    const { run } = (await joinRuns(store.context, [TABLE], WORKER, {})).get(TABLE)!
    const savedAt = time.now()
    const paceOf = (rate: number, at: number): Pace => ({
      savedAt: at,
      worker: `host:${rate}`,
      rate,
      throttledBy: 'latency',
      waited: 0.5,
    })
    const tally = { ...emptyTally(), rows: 10 }
    const part = { ...freshPart(run), phase: 'entities', seen: 10, total: 100, tally } as const
    await savePart(0, { ...part, pace: paceOf(30, savedAt) }, 5_000)
    await savePart(1, { ...part, pace: paceOf(10, savedAt - 7) }, 5_000)
    await savePart(2, { ...part, pace: paceOf(99, savedAt - 9) })
    const { inProgress } = (await readCleanerReport(store)).indexes[0]!
    // A ready index is swept, without a check. On each shard 90 entities remain, and by estimate 90 rows of theirs, and 100 rows of the table.
    expect(inProgress).toMatchObject({
      savedAt: new Date(savedAt),
      rate: 40,
      timeLeftMs: ((3 * 280) / 40) * 1_000,
    })
    expect(inProgress!.shards).toMatchObject([
      { worker: 'host:30', rate: 30, throttledBy: 'latency', waited: 0.5 },
      { worker: 'host:10', rate: 10 },
      { worker: undefined, rate: 0, throttledBy: undefined, waited: 0 },
    ])
  })

  it('the report counts the check of a filling, and none of a part that is free', async () => {
    await store.put({ tags: ['x'] })
    await store.addIndex(byTag)
    const table = 'index_by_tag'
    const { run } = (await joinRuns(store.context, [table], WORKER, {})).get(table)!
    const pace: Pace = { savedAt: 5_000, worker: '', rate: 10, throttledBy: 'latency', waited: 0.5 }
    const part = { ...freshPart(run), phase: 'entities', seen: 50, total: 100, pace } as const
    for (const [shard, { tasks }] of driver.shards.entries()) {
      await tasks.claim(partTask(table), 'worker', 5_000)
      await tasks.save(partTask(table), 'worker', partToText(part), shard === 0 ? 5_000 : 0)
    }
    const report = (await readCleanerReport(store)).indexes.find(({ index }) => index === 'by_tag')!
    expect(report).not.toHaveProperty('unique')
    expect(report).not.toHaveProperty('halted')
    const { inProgress } = report
    // On each shard 50 entities remain, no rows by the ratio so far, and the check of 100.
    expect(inProgress).toMatchObject({ rate: 10, timeLeftMs: ((3 * 150) / 10) * 1_000 })
    const free = { worker: undefined, rate: 0, throttledBy: undefined, waited: 0 }
    expect(inProgress!.shards).toMatchObject([{ worker: undefined, rate: 10, waited: 0.5 }, free, free])
  })

  it('the report marks claims, and indexes whose filling is halted', async () => {
    const byMail = { properties: { mail: 'string' }, shardOn: 'mail', unique: true } as const
    await store.addIndex(defineIndex('by_mail', byMail))
    await store.pauseIndex('by_mail')
    const { indexes } = await readCleanerReport(store)
    expect(indexes).toMatchObject([
      { index: 'by_user', state: 'ready' },
      { index: 'by_mail', state: 'building', halted: true },
      { index: 'by_mail', state: 'building', unique: true, halted: true },
    ])
    expect(indexes[1]).not.toHaveProperty('unique')
  })

  it('workers are counted once over all shards', async () => {
    const other = 'index_by_tag'
    for (const [shard, owner] of ['a', 'b', 'a'].entries())
      await driver.shards[shard]!.tasks.claim(partTask(TABLE), owner, 5_000)
    expect(await readWorkers(store, [TABLE, other])).toEqual(
      new Map([
        [TABLE, 2],
        [other, 0],
      ]),
    )
  })

  it('the report has the number of misfits, and the time of the count', async () => {
    const misfitting = { user_id: 7, published: 'x' }
    await store.put(misfitting)
    await store.put(misfitting)
    await store.put({ user_id: 'ada', published: 1 })
    const counts = async () => (await readCleanerReport(store)).indexes[0]!.misfits
    expect(await counts()).toBeUndefined()
    await cleanIndex(store, 'by_user')
    const [{ lastRun }] = (await readCleanerReport(store)).indexes as [IndexReport]
    const { misfits } = lastRun!.tally
    expect(misfits).toBeGreaterThanOrEqual(2)
    expect(await counts()).toEqual({ count: misfits, countedAt: lastRun!.finishedAt })
  })

  it('the report has the misfits of a filling so far, or of the last run during a later one', async () => {
    const { run } = (await joinRuns(store.context, [TABLE], WORKER, {})).get(TABLE)!
    const pace: Pace = { savedAt: 5_000, worker: '', rate: 1, throttledBy: undefined, waited: 0 }
    const tally = { ...emptyTally(), misfits: 3, undecodable: 2 }
    await savePart(0, { ...freshPart(run), tally, pace })
    await savePart(1, { ...freshPart(run), tally, pace: { ...pace, savedAt: 4_000 } })
    const misfits = async () => (await readCleanerReport(store)).indexes[0]!.misfits
    expect(await misfits()).toEqual({ count: 6, countedAt: new Date(5_000) })
    expect((await readCleanerReport(store)).indexes[0]!.inProgress!.undecodable).toBe(4)
    await cleanIndex(store, 'by_user')
    await joinRuns(store.context, [TABLE], WORKER, {})
    expect((await misfits())!.countedAt.getTime()).toBeGreaterThan(5_000)
  })

  it('`missing` counts the missing rows of a sweep, but not the rows of a filling', async () => {
    const other = await openStore({ driver, time })
    const bag = { user_id: 'ada', published: 1, tags: ['a'] }
    const { id } = await other.put(bag)
    await other.addIndex(byTag)
    await cleanIndex(other, 'by_tag')
    const lastOf = async () =>
      (await readCleanerReport(other)).indexes.find(({ index }) => index === 'by_tag')!.lastRun!
    expect(await lastOf()).toMatchObject({ missing: 0, tally: { added: 1 } })
    await removeRow(other, 'by_tag', rowFor(other, 'by_tag', id, bag, 0))
    await cleanIndex(other, 'by_tag')
    expect(await lastOf()).toMatchObject({ missing: 1, tally: { added: 1 } })
    // A restart rewrites all rows, so none counts as missing.
    await cleanIndex(other, 'by_tag', { restart: true })
    expect(await lastOf()).toMatchObject({ missing: 0 })
  })

  it.each([
    new LooseleafError('SHARD_DENIED', 'The user lacks a privilege.'),
    new LooseleafError('STATEMENT_FAILED', 'The table of tasks is gone.'),
  ])('the report has the other shards if one refuses: $code', async (refusal) => {
    await joinRuns(store.context, [TABLE], WORKER, {})
    refuse(refusal)
    const { indexes, shards } = await readCleanerReport(store)
    expect(indexes[0]!.inProgress!.shards.map(({ phase }) => phase)).toEqual([
      'waiting',
      'waiting',
      'unknown',
    ])
    expect(shards.map(({ error }) => error?.code)).toEqual([undefined, undefined, refusal.code])
  })

  it.each([
    [new LooseleafError('SHARD_DENIED', 'The user lacks a privilege.'), 0],
    [new LooseleafError('ABORTED', 'Stopped.'), 2],
    [new LooseleafError('CLOSED', 'The store is closed.'), 2],
    [new Error('A mistake in the program.'), 2],
  ])(
    'the report rejects if shard 0 refuses, or with an error that is not of one shard: %s',
    async (error, shard) => {
      refuse(error, shard)
      await expect(readCleanerReport(store)).rejects.toBe(error)
    },
  )

  it('the report has the end and the counts of the last run', async () => {
    await cleanIndex(store, 'by_user')
    const [report] = (await readCleanerReport(store)).indexes
    expect(report).toMatchObject({ lastRun: { tally: { added: 0 } }, inProgress: undefined })
    expect(report!.lastRun!.finishedAt.getTime()).toBeLessThanOrEqual(time.now())
  })

  it('the report includes indexes that another process has added', async () => {
    const other = await openStore({ driver, time })
    await other.addIndex(byTag)
    plan = ({ operation }) =>
      operation === 'load' ? { after: () => new Promise((resolve) => setImmediate(resolve)) } : undefined
    const names = (await readCleanerReport(store)).indexes.map(({ index }) => index)
    expect(names.toSorted()).toEqual(['by_tag', 'by_user'])
  })
})
