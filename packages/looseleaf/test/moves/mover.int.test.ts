import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { checkIndexes, checkQueries, contentsOf, fill, indexes, rowsAt, SOME_BUCKETS } from './stores.ts'

test('a move between two servers hands 2,000 entities over, and every query answers as before', async () => {
  const { urls } = await freshShards(2)
  const open = (): Promise<DataStore> =>
    // No other process reads, so the waits for queries in flight may be skipped.
    DataStore.open({
      shards: mysqlShards(urls),
      indexes,
      migrate: true,
      time: leapingTime(),
      onWarning: () => {},
    })
  const store = await open()
  await fill(store, 2_000)
  await store.close()
  await using mover = await open()
  const before = await contentsOf(mover)
  const report = await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })
  expect(report).toMatchObject({ state: 'done', handedOver: 1_024 })
  expect(report.counts.compared).toBe(report.counts.entities)

  await using fresh = await open()
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await rowsAt(fresh, 0, SOME_BUCKETS)).toBe(0)
  await checkQueries(fresh)
  await checkIndexes(fresh)
}, 60_000)

test('indexes are filled on two servers while their buckets move there and back', async () => {
  const { urls } = await freshShards(2)
  const time = leapingTime()
  const open = (options: { readonly indexes?: typeof indexes } = {}): Promise<DataStore> =>
    DataStore.open({
      shards: mysqlShards(urls),
      migrate: true,
      time,
      onWarning: () => {},
      ...options,
    })
  const store = await open()
  await fill(store, 1_000)
  await store.close()
  await using mover = await open()
  await using filler = await open({ indexes })
  let isFilling = true
  const filled = tunedCleanIndex(filler, undefined, { pageSize: 50, settleMs: 1 }).finally(
    () => (isFilling = false),
  )
  let moves = 0
  for (let [from, to] = [0, 1]; isFilling && moves < 4; [from, to] = [to, from], moves++)
    expect(await moveBuckets(mover, { from, to, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
  expect(await filled).toMatchObject({ complete: true })
  expect(moves).toBeGreaterThan(0)

  await using fresh = await open({ indexes })
  await checkQueries(fresh)
  await checkIndexes(fresh)
}, 60_000)
