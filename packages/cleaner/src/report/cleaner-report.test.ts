import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, describe, expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '../../test/times.ts'
import { cleanIndex } from '../clean/clean-index.ts'
import { partTask } from '../clean/part-lease.ts'
import { freshPart, partToText, type Part } from '../clean/part.ts'
import { joinRuns } from '../clean/run-record.ts'
import { readCleanerReport } from './cleaner-report.ts'

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

async function savePart(shard: number, part: Part): Promise<void> {
  const { tasks } = driver.shards[shard]!
  await tasks.claim(partTask(TABLE), 'worker', 5_000)
  await tasks.save(partTask(TABLE), 'worker', partToText(part), 0)
}

/** Shard 2 answers nothing of tasks but this error. */
function refuse(refusal: Error): void {
  plan = ({ shard, table }) =>
    shard === 2 && table === 'tasks' ? { before: () => Promise.reject(refusal) } : undefined
}

describe('the report of an index', () => {
  it('has no run before the first', async () => {
    const { indexes } = await readCleanerReport(store)
    expect(indexes).toEqual([
      { index: 'by_user', generation: 1, state: 'ready', lastRun: undefined, underWay: undefined },
    ])
  })

  it('says how far each shard has come that answers', async () => {
    const record = (await joinRuns(store.context, [TABLE], WORKER, {})).get(TABLE)!
    await savePart(0, { ...freshPart(record.run), phase: 'dangling', seen: 5, total: 3 })
    await savePart(1, { ...freshPart('an earlier one'), phase: 'check', seen: 9, total: 9 })
    refuse(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
    const { indexes } = await readCleanerReport(store)
    expect(indexes[0]!.underWay).toEqual({
      startedAt: new Date(record.startedAt),
      shards: [
        { shard: 0, phase: 'dangling', done: 5, total: 5 },
        { shard: 1, phase: 'waiting', done: 0, total: 0 },
        { shard: 2, phase: 'unknown', done: 0, total: 0 },
      ],
    })
  })

  it('is not had where a shard refuses', async () => {
    refuse(new LooseleafError('SHARD_DENIED', 'The user lacks a privilege.'))
    await expect(readCleanerReport(store)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  })

  it('says when the last run ended, and what it did', async () => {
    await cleanIndex(store, 'by_user')
    const [report] = (await readCleanerReport(store)).indexes
    expect(report).toMatchObject({ lastRun: { tally: { added: 0 } }, underWay: undefined })
    expect(report!.lastRun!.finishedAt.getTime()).toBeLessThanOrEqual(time.now())
  })

  it('is of the indexes that there are now, also those that another process has added', async () => {
    const other = await openStore({ driver, time })
    await other.addIndex(byTag)
    plan = ({ operation }) =>
      operation === 'load' ? { after: () => new Promise((resolve) => setImmediate(resolve)) } : undefined
    const names = (await readCleanerReport(store)).indexes.map(({ index }) => index)
    expect(names.toSorted()).toEqual(['by_tag', 'by_user'])
  })
})
