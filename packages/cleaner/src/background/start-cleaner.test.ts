import { LooseleafError, systemTime, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { watchedDriver } from '../../test/broken-driver.ts'
import {
  addRow,
  byTag,
  byUser,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  found,
} from '../../test/stores.ts'
import { leapingTime, until } from '../../test/times.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startCleaner, type Cleaner } from './start-cleaner.ts'

function start(store: CleanerStore, options?: CleanerOptions): Cleaner {
  const cleaner = startCleaner(store, options)
  onTestFinished(() => cleaner.stop())
  return cleaner
}

test('what is written with a row missing or dangling is put right while it runs', async () => {
  const store = await openStore({ time: leapingTime() })
  const cleaner = start(store)
  await until(() => cleaner.status().shards.every(({ lastRoundAt }) => lastRoundAt !== undefined))
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version))
  await store.put({ ...bag, title: 'Changed' }, { id })
  await until(() => cleaner.status().totals.removed > 0)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(cleaner.status()).toMatchObject({ isRunning: true, lastError: undefined })

  await cleaner.stop()
  expect(cleaner.status().isRunning).toBe(false)
  const report = await readCleanerReport(store)
  expect(report.totals.removed).toBe(1)
  // More where minutes have leapt by before the second write: a row that is gone for that long has its index filled again.
  expect(report.totals.added).toBeGreaterThanOrEqual(1)
  expect(report.lastFoundAt).toBeInstanceOf(Date)
})

test('it is stopped at the end of a block with `await using`', async () => {
  const store = await openStore({ time: leapingTime() })
  let used: Cleaner
  {
    await using cleaner = startCleaner(store)
    used = cleaner
    expect(used.status().isRunning).toBe(true)
  }
  expect(used.status().isRunning).toBe(false)
  await store.close()
})

test('indexes that are added while it runs are filled', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, indexes: [], time: leapingTime() })
  const other = await openStore({ driver, indexes: [] })
  for (let i = 0; i < 20; i++) await store.put({ user_id: 'ada', published: i, tags: ['a'] })
  start(store)
  await other.addIndex(byUser)
  await other.addIndex(byTag)
  await until(async () => (await other.indexes()).every(({ state }) => state === 'ready'))
  expect(await found(other, byUser, { user_id: 'ada' })).toHaveLength(20)
  expect(await rowsIn(other, 'by_tag')).toEqual(await expectedRows(other, 'by_tag'))
})

test('everything is swept from time to time', async () => {
  const time = leapingTime()
  const store = await openStore({ time })
  const cleaner = start(store, { sweepEveryMs: 3_600_000 })
  const finished = async (): Promise<number[]> =>
    (await readCleanerReport(store)).indexes.map(({ lastRun }) => lastRun?.finishedAt.getTime() ?? 0)
  await until(async () => (await finished()).every((at) => at > 0))
  const first = await finished()
  // No entity tells of this row, so that the tail cannot find it.
  const orphan = rowFor(store, 'by_user', store.newId(), { user_id: 'eve', published: 1 }, 1)
  await addRow(store, 'by_user', orphan)
  await until(() => cleaner.status().totals.removed > 0)
  await until(async () => (await finished()).every((at, i) => at > first[i]!))
  for (const [i, at] of (await finished()).entries()) expect(at - first[i]!).toBeGreaterThanOrEqual(3_600_000)
  expect(await rowsIn(store, 'by_user')).toEqual([])
})

test('an error is told, does not end it, and is tried again', async () => {
  const driver = await memoryShards(2).connect()
  let isDown = true
  const store = await openStore({
    driver: watchedDriver(driver, async (shard, method) => {
      if (isDown && shard === 1 && method === 'pageByUpdated') {
        throw new LooseleafError('SHARD_UNAVAILABLE', 'Shard 1 is away.')
      }
    }),
    time: leapingTime(),
  })
  const errors: unknown[] = []
  const cleaner = start(store, { onError: (error) => errors.push(error) })
  await until(() => errors.length >= 3)
  expect(cleaner.status().lastError).toMatchObject({ code: 'SHARD_UNAVAILABLE', message: 'Shard 1 is away.' })
  await until(async () => (await readCleanerReport(store)).lastError?.code === 'SHARD_UNAVAILABLE')
  expect(cleaner.status().shards[1]?.lastRoundAt).toBeUndefined()
  isDown = false
  await until(() => cleaner.status().shards[1]?.lastRoundAt !== undefined)
})

test('of several processes each shard is followed by one, and the rest is taken over when one stops', async () => {
  const driver = await memoryShards(3).connect()
  const [a, b] = [
    await openStore({ driver, time: leapingTime() }),
    await openStore({ driver, time: leapingTime() }),
  ]
  const [first, second] = [start(a), start(b)]
  const mine = (cleaner: Cleaner): number => cleaner.status().shards.filter(({ isMine }) => isMine).length
  await until(() => mine(first) + mine(second) === 3)
  await first.stop()
  await until(() => mine(second) === 3)
  expect(mine(first)).toBe(0)
})

test('an index that is dropped while it runs is no error', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, time: leapingTime() })
  const other = await openStore({ driver })
  const cleaner = start(store, { catalogMs: 1e9, sweepEveryMs: 1e12 })
  await until(
    () => cleaner.status().sweeping.length === 0 && cleaner.status().shards[0]?.lastRoundAt !== undefined,
  )
  await other.dropIndex('by_tag')
  await other.put({ user_id: 'ada', published: 1, tags: ['a'] })
  await until(() => cleaner.status().totals.entities > 0)
  expect(cleaner.status().lastError).toBeUndefined()
})

test('stop ends work that waits for its throttle, and can be called twice', async () => {
  const store = await openStore()
  for (let i = 0; i < 20; i++) await store.put({ user_id: 'ada', published: i })
  const cleaner = startCleaner(store, { rowsPerSecond: 0.001 })
  await until(() => cleaner.status().sweeping.length > 0)
  await cleaner.stop()
  await cleaner.stop()
  expect(cleaner.status()).toMatchObject({ isRunning: false, sweeping: [], filling: [] })
})

test('a cleaner ends when its store is closed, which waits for it to leave its work to others, and nobody is told of an error', async () => {
  const connected = await memoryShards(3).connect()
  onTestFinished(() => connected.close())
  // As of another process for the cleaner that comes after it.
  const driver = { ...connected, close: async () => {} }
  const leaping = leapingTime()
  // The five seconds that `close` waits for at the most do not leap.
  const sleep: Time['sleep'] = (ms, signal) => (ms === 5_000 ? systemTime : leaping).sleep(ms, signal)
  const store = await openStore({ driver, time: { now: leaping.now, sleep } })
  await store.put({ user_id: 'ada', published: 1, tags: ['a'] })
  const errors: unknown[] = []
  const cleaner = start(store, { leaseMs: 300_000, onError: (error) => errors.push(error) })
  await until(() => cleaner.status().shards.every(({ lastRoundAt }) => lastRoundAt !== undefined))
  const closing = store.close()
  expect(cleaner.status().isRunning).toBe(false)
  await closing
  expect(errors).toEqual([])
  expect(cleaner.status()).toMatchObject({ lastError: undefined, filling: [], sweeping: [] })
  const other = start(await openStore({ driver, time: leapingTime() }))
  await until(() => other.status().shards.every(({ isMine }) => isMine))
})

test('a cleaner of a store that is closed already tells that once and ends', async () => {
  const store = await openStore({ shards: 3, time: leapingTime() })
  await store.close()
  const errors: unknown[] = []
  const cleaner = start(store, { keepAlive: true, onError: (error) => errors.push(error) })
  await until(() => !cleaner.status().isRunning)
  await cleaner.stop()
  expect(errors).toMatchObject([{ code: 'CLOSED' }])
  expect(cleaner.status()).toMatchObject({ lastError: { code: 'CLOSED' }, filling: [], sweeping: [] })
})

test('callbacks that throw or reject do not end the cleaner: onError is told, and of its own errors Node', async () => {
  const store = await openStore({ shards: 1, time: leapingTime() })
  await store.put({ user_id: 7, published: 'x' })
  const failures = ['first', 'second', 'problem', 'progress'].map((text) => new Error(text))
  const told = new Set<unknown>()
  const warnings = new Set<string>()
  const onWarning = ({ message }: Error): void => void warnings.add(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const cleaner = start(store, {
    onProblem: async () => {
      throw failures[2]
    },
    onProgress: async () => {
      throw failures[3]
    },
    onError(error) {
      told.add(error)
      if (told.size === 1) throw failures[0]
      return Promise.reject(failures[1])
    },
  })
  await until(() => told.size === 2 && warnings.size === 2)
  expect(told).toEqual(new Set([failures[2], failures[3]]))
  expect([...warnings].toSorted()).toEqual([
    'onError of startCleaner failed: Error: first',
    'onError of startCleaner failed: Error: second',
  ])
  expect(cleaner.status().isRunning).toBe(true)
})
