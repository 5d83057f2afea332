import { memoryShards } from '@looseleaf/driver-sqlite'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { byUser, expectedRows, openStore, rowsIn } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { readCleanerReport } from '../report/cleaner-report.ts'
import { cleanIndex } from './clean-index.ts'
import { cleaning, tunedCleaning } from './cleaning.ts'
import type { CleanProgress } from './progress.ts'

let plan: FaultPlan
let store: DataStore

beforeEach(async () => {
  plan = () => undefined
  const driver = faultyDriver(await memoryShards(2).connect(), (call) => plan(call))
  store = await openStore({ driver, indexes: [], time: leapingTime() })
  await store.putMany(Array.from({ length: 60 }, (_, i) => ({ user_id: `user ${i}`, published: i })))
  await store.addIndex(byUser)
})

const turn = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 20))

/** Returns the number of entities that the filling has read so far. */
async function readSoFar(): Promise<number> {
  const { indexes } = await readCleanerReport(store)
  return (indexes[0]!.inProgress?.shards ?? []).reduce((sum, { done }) => sum + done, 0)
}

test('`cleaning` yields its progress, and the index is ready when the loop ends', async () => {
  const reports: CleanProgress[] = []
  for await (const progress of tunedCleaning(store, 'by_user', { pageSize: 10 })) reports.push(progress)
  expect(new Set(reports.map(({ phase }) => phase))).toEqual(
    new Set(['entities', 'dangling', 'check', 'ready']),
  )
  expect(reports.at(-1)).toMatchObject({ phase: 'ready', timeLeftMs: 0 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(await store.indexes()).toMatchObject([{ state: 'ready' }])
})

test('`cleaning` returns the result of `cleanIndex`', async () => {
  const steps = tunedCleaning(store)
  let step = await steps.next()
  while (step.done !== true) step = await steps.next()
  expect(step.value).toMatchObject({ added: 60, indexes: [{ index: 'by_user', state: 'ready' }] })
})

test('leaving the loop stops the work, and the next call resumes there', async () => {
  for await (const { done } of tunedCleaning(store, 'by_user', { pageSize: 5, shardsAtOnce: 1 }))
    if (done >= 10) break
  const kept = await readSoFar()
  expect(kept).toBeGreaterThanOrEqual(10)
  expect(kept).toBeLessThan(60)
  await turn()
  expect(await readSoFar()).toBe(kept)

  let first: CleanProgress | undefined
  for await (const progress of tunedCleaning(store, 'by_user', { pageSize: 5, shardsAtOnce: 1 }))
    first ??= progress
  expect(first!.done).toBeGreaterThan(10)
  expect(await store.indexes()).toMatchObject([{ state: 'ready' }])
})

test('a slow loop does not delay the work, and gets the latest progress of each shard', async () => {
  const reports: CleanProgress[] = []
  for await (const progress of tunedCleaning(store, 'by_user', { pageSize: 5 })) {
    reports.push(progress)
    if (reports.length > 1) continue
    // The index would never become ready if the work waited for the loop.
    while ((await store.indexes())[0]!.state !== 'ready') await turn()
  }
  const entities = reports.filter(({ phase }) => phase === 'entities')
  expect(entities.length).toBeLessThanOrEqual(3)
  for (const shard of [0, 1]) {
    const last = entities.findLast((progress) => progress.shard === shard)
    expect(last!.done).toBe(last!.total)
  }
})

test('an error of the work ends the loop', async () => {
  plan = ({ operation }) =>
    operation === 'pageByAdded'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined
  const reports: CleanProgress[] = []
  const loop = async (): Promise<void> => {
    for await (const progress of tunedCleaning(store, 'by_user')) reports.push(progress)
  }
  await expect(loop()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(reports).toEqual([])
})

test('a signal ends the loop', async () => {
  const controller = new AbortController()
  const loop = async (): Promise<void> => {
    for await (const _ of tunedCleaning(store, 'by_user', { pageSize: 5, signal: controller.signal }))
      controller.abort()
  }
  await expect(loop()).rejects.toMatchObject({ code: 'ABORTED' })
})

test('`cleaning` sends no statement before the loop begins', async () => {
  const steps = tunedCleaning(store, 'by_user')
  await turn()
  expect(await store.indexes()).toMatchObject([{ state: 'building' }])
  await steps.return(await cleanIndex(store, 'by_user'))
})

test('`cleaning` checks its options at the call', () => {
  expect(() => cleaning(store, 'by_user', { onProgress: () => {} } as never)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION' }),
  )
})

test('`cleaning` checks its names at the call', () => {
  expect(() => cleaning(store, byUser as never)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('cleaning takes') }),
  )
})

test('statements to busy shards are retried', async () => {
  let busy = 3
  plan = ({ operation, table }) =>
    operation === 'upsert' && table !== 'tasks' && busy-- > 0
      ? { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'A lock was not given in time.')) }
      : undefined
  const reports: CleanProgress[] = []
  for await (const progress of tunedCleaning(store, 'by_user', { pageSize: 10 })) reports.push(progress)
  expect(busy).toBeLessThan(0)
  expect(reports.map(({ throttledBy }) => throttledBy)).toContain('lock waits')
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})
