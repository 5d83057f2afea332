import { LooseleafError, type Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { AnyStore } from '@looseleaf/protocol/internal'
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
import { leapingTime, until } from '@looseleaf-tooling/kit/times'
import { readCleanerReport } from '../report/cleaner-report.ts'
import type { Tuned } from '../pass/tuning.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import { startTunedCleaner, type Cleaner } from './start-cleaner.ts'

function start(store: AnyStore, options?: Tuned<CleanerOptions>): Cleaner {
  const cleaner = startTunedCleaner(store, options)
  onTestFinished(() => cleaner.stop())
  return cleaner
}

test('a running cleaner repairs missing and dangling rows of entities that are written', async () => {
  const store = await openStore({ time: leapingTime() })
  // Looked for later, the missing row would look like an emptied table, whose index is filled again.
  const cleaner = start(store, { catalogMs: 1e12, sweepEveryMs: 1e12 })
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
  // 2 if the first sweep and the follower of writes both meet it.
  expect(report.totals.added).toBeGreaterThanOrEqual(1)
  expect(report.lastFoundAt).toBeInstanceOf(Date)
})

test('`await using` stops a cleaner at the end of the block', async () => {
  const store = await openStore({ time: leapingTime() })
  let used: Cleaner
  {
    await using cleaner = startTunedCleaner(store)
    used = cleaner
    expect(used.status().isRunning).toBe(true)
  }
  expect(used.status().isRunning).toBe(false)
  await store.close()
})

test('a running cleaner fills indexes that are added', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, indexes: [], time: leapingTime() })
  const other = await openStore({ driver, indexes: [] })
  for (let i = 0; i < 20; i++) await store.put({ user_id: 'ada', published: i, tags: ['a'] })
  const cleaner = start(store)
  await other.addIndex(byUser)
  await other.addIndex(byTag)
  await until(async () => (await other.indexes()).every(({ state }) => state === 'ready'))
  expect(await found(other, byUser, { user_id: 'ada' })).toHaveLength(20)
  expect(await rowsIn(other, 'by_tag')).toEqual(await expectedRows(other, 'by_tag'))
  await cleaner.stop()
  // Fillings write rows, and none that was missing.
  const { totals, lastFoundAt, indexes } = await readCleanerReport(other)
  expect({ ...totals, lastFoundAt }).toMatchObject({ added: 0, lastFoundAt: undefined })
  expect(indexes.map(({ lastRun }) => lastRun?.tally.added)).toEqual([20, 20])
})

test('a running cleaner sweeps all indexes regularly', async () => {
  const time = leapingTime()
  const store = await openStore({ time })
  const cleaner = start(store, { sweepEveryMs: 3_600_000 })
  const finished = async (): Promise<number[]> =>
    (await readCleanerReport(store)).indexes.map(({ lastRun }) => lastRun?.finishedAt.getTime() ?? 0)
  await until(async () => (await finished()).every((at) => at > 0))
  const first = await finished()
  // The row has no entity, so the tail cannot find it.
  const orphan = rowFor(store, 'by_user', store.newId(), { user_id: 'eve', published: 1 }, 1)
  await addRow(store, 'by_user', orphan)
  await until(() => cleaner.status().totals.removed > 0)
  await until(async () => (await finished()).every((at, i) => at > first[i]!))
  for (const [i, at] of (await finished()).entries()) expect(at - first[i]!).toBeGreaterThanOrEqual(3_600_000)
  expect(await rowsIn(store, 'by_user')).toEqual([])
})

test('an error is reported and retried, and does not end the cleaner', async () => {
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

test('each shard is followed by one of several processes, and another takes over when that one stops', async () => {
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

test('a cleaner leaves a shard that is removed while it runs, without an error', async () => {
  const driver = await memoryShards(3).connect()
  const store = await openStore({ driver, indexes: [byUser], time: leapingTime() })
  await store.shards.drain(2)
  const errors: unknown[] = []
  const cleaner = start(store, { onError: (error) => errors.push(error) })
  await until(() => cleaner.status().shards.every(({ isMine }) => isMine))
  await until(() => cleaner.status().progress.length === 3)
  await (await openStore({ driver, indexes: [byUser], time: leapingTime() })).shards.remove(2)
  await until(() => cleaner.status().shards.length === 2)
  expect(cleaner.status().progress.map(({ shard }) => shard)).toEqual([0, 1])
  expect(errors).toEqual([])
})

test('a cleaner reports no error of a shard that its process has left out before its catalog says so', async () => {
  const driver = await memoryShards(3).connect()
  const store = await openStore({ driver, indexes: [byUser], time: leapingTime() })
  await store.shards.drain(2)
  const { catalog } = store.context
  const before = catalog.latest()
  const context = { ...store.context, catalog: { ...catalog, latest: () => before } }
  const errors: unknown[] = []
  const cleaner = start({ context }, { catalogMs: 1e12, onError: (error) => errors.push(error) })
  const lastRound = (): number => cleaner.status().shards[0]?.lastRoundAt?.getTime() ?? 0
  await until(() => cleaner.status().progress.length === 3 && lastRound() > 0)
  await (await openStore({ driver, indexes: [byUser], time: leapingTime() })).shards.remove(2)
  await catalog.reload()
  const learned = lastRound()
  await until(() => lastRound() > learned + 60_000)
  expect(errors).toEqual([])
})

test('an index that is dropped while a cleaner runs causes no error', async () => {
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

test('`stop` ends work that waits for its throttle, and is idempotent', async () => {
  const store = await openStore()
  for (let i = 0; i < 20; i++) await store.put({ user_id: 'ada', published: i })
  const cleaner = startTunedCleaner(store, { rowsPerSecond: 0.001 })
  await until(() => cleaner.status().sweeping.length > 0)
  await cleaner.stop()
  await cleaner.stop()
  expect(cleaner.status()).toMatchObject({ isRunning: false, sweeping: [], filling: [] })
})

test('a cleaner ends without an error when its store is closed, and the close waits until its leases are released', async () => {
  const connected = await memoryShards(3).connect()
  onTestFinished(() => connected.close())
  // The driver stays open for the next cleaner.
  const driver = { ...connected, close: async () => {} }
  const leaping = leapingTime()
  // The timeout of `close`, five seconds, does not leap.
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

test('a cleaner of a closed store reports that once and ends', async () => {
  const store = await openStore({ shards: 3, time: leapingTime() })
  await store.close()
  const errors: unknown[] = []
  const cleaner = start(store, { keepAlive: true, onError: (error) => errors.push(error) })
  await until(() => !cleaner.status().isRunning)
  await cleaner.stop()
  expect(errors).toMatchObject([{ code: 'CLOSED' }])
  expect(cleaner.status()).toMatchObject({ lastError: { code: 'CLOSED' }, filling: [], sweeping: [] })
})

test('exceptions in callbacks go to `onError`, exceptions in `onError` become warnings, and neither ends the cleaner', async () => {
  const warnings = new Set<string>()
  const onWarning = (warning: string): void => void warnings.add(warning)
  const store = await openStore({ shards: 1, time: leapingTime(), onWarning })
  await store.put({ user_id: 7, published: 'x' })
  const failures = ['first', 'second', 'problem', 'progress'].map((text) => new Error(text))
  const reported = new Set<unknown>()
  const cleaner = start(store, {
    onProblem: async () => {
      throw failures[2]
    },
    onProgress: async () => {
      throw failures[3]
    },
    onError(error) {
      reported.add(error)
      if (reported.size === 1) throw failures[0]
      return Promise.reject(failures[1])
    },
  })
  await until(() => reported.size === 2 && warnings.size === 2)
  expect(reported).toEqual(new Set([failures[2], failures[3]]))
  expect([...warnings].toSorted()).toEqual([
    'onError of startCleaner failed: Error: first',
    'onError of startCleaner failed: Error: second',
  ])
  expect(cleaner.status().isRunning).toBe(true)
})
