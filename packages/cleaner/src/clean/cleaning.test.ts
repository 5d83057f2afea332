import { memoryShards } from '@looseleaf/driver-sqlite'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { byUser, expectedRows, openStore, rowsIn } from '../../test/stores.ts'
import { leapingTime } from '../../test/times.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import { cleanIndex } from './clean-index.ts'
import { cleaning } from './cleaning.ts'
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

/** How many entities were read so far, for the filling of the index. */
async function readSoFar(): Promise<number> {
  const { indexes } = await readCleanerReport(store)
  return (indexes[0]!.underWay?.shards ?? []).reduce((sum, { done }) => sum + done, 0)
}

test('the loop is told how it goes, and the index is ready when it ends', async () => {
  const told: CleanProgress[] = []
  for await (const progress of cleaning(store, 'by_user', { pageSize: 10 })) told.push(progress)
  expect(new Set(told.map(({ phase }) => phase))).toEqual(new Set(['entities', 'dangling', 'check', 'ready']))
  expect(told.at(-1)).toMatchObject({ phase: 'ready', timeLeftMs: 0 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(await store.indexes()).toMatchObject([{ state: 'ready' }])
})

test('what it returns is what cleanIndex answers', async () => {
  const steps = cleaning(store)
  let step = await steps.next()
  while (step.done !== true) step = await steps.next()
  expect(step.value).toMatchObject({ added: 60, indexes: [{ index: 'by_user', state: 'ready' }] })
})

test('leaving the loop stops the work, and the next call goes on from there', async () => {
  for await (const { done } of cleaning(store, 'by_user', { pageSize: 5, shardsAtOnce: 1 }))
    if (done >= 10) break
  const kept = await readSoFar()
  expect(kept).toBeGreaterThanOrEqual(10)
  expect(kept).toBeLessThan(60)
  await turn()
  expect(await readSoFar()).toBe(kept)

  let first: CleanProgress | undefined
  for await (const progress of cleaning(store, 'by_user', { pageSize: 5, shardsAtOnce: 1 }))
    first ??= progress
  expect(first!.done).toBeGreaterThan(10)
  expect(await store.indexes()).toMatchObject([{ state: 'ready' }])
})

test('a loop that is busy holds nobody up, and is told the last word of each shard', async () => {
  const told: CleanProgress[] = []
  for await (const progress of cleaning(store, 'by_user', { pageSize: 5 })) {
    told.push(progress)
    if (told.length > 1) continue
    // Until the index is ready, which it would never be if the work waited for the loop.
    while ((await store.indexes())[0]!.state !== 'ready') await turn()
  }
  const entities = told.filter(({ phase }) => phase === 'entities')
  expect(entities.length).toBeLessThanOrEqual(3)
  for (const shard of [0, 1]) {
    const last = entities.findLast((progress) => progress.shard === shard)
    expect(last!.done).toBe(last!.total)
  }
})

test('what ends the work ends the loop', async () => {
  plan = ({ operation }) =>
    operation === 'pageByAdded'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined
  const told: CleanProgress[] = []
  const loop = async (): Promise<void> => {
    for await (const progress of cleaning(store, 'by_user')) told.push(progress)
  }
  await expect(loop()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(told).toEqual([])
})

test('a signal ends it', async () => {
  const controller = new AbortController()
  const loop = async (): Promise<void> => {
    for await (const _ of cleaning(store, 'by_user', { pageSize: 5, signal: controller.signal }))
      controller.abort()
  }
  await expect(loop()).rejects.toMatchObject({ code: 'ABORTED' })
})

test('nothing is sent before the loop begins', async () => {
  const steps = cleaning(store, 'by_user')
  await turn()
  expect(await store.indexes()).toMatchObject([{ state: 'building' }])
  await steps.return(await cleanIndex(store, 'by_user'))
})

test('its options are checked at the call', () => {
  expect(() => cleaning(store, 'by_user', { onProgress: () => {} } as never)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION' }),
  )
})

test('shards that are busy for a moment are asked again', async () => {
  let busy = 3
  plan = ({ operation, table }) =>
    operation === 'upsert' && table !== 'tasks' && busy-- > 0
      ? { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'A lock was not given in time.')) }
      : undefined
  const told: CleanProgress[] = []
  for await (const progress of cleaning(store, 'by_user', { pageSize: 10 })) told.push(progress)
  expect(busy).toBeLessThan(0)
  expect(told.map(({ throttledBy }) => throttledBy)).toContain('lock waits')
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})
