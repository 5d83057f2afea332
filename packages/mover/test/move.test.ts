import { memoryShards } from '@looseleaf/driver-sqlite'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '../src/move-buckets.ts'
import { movesOf } from '../src/move-report.ts'
import { checkIndexes, checkQueries, contentsOf, fill, openStore, rowsAt, SOME_BUCKETS } from './stores.ts'

test('a move hands 2,000 entities over with their tombstones, index rows and claims, and leaves nothing behind', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore(driver, leapingTime())
  await fill(store, 2_000)
  const before = await contentsOf(store)
  const moved = await rowsAt(store, 0, SOME_BUCKETS)
  expect(moved).toBeGreaterThan(2_000)

  const report = await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  expect(report).toMatchObject({ state: 'done', handedOver: 1_024, heldUpBy: undefined })
  expect(await movesOf(store)).toEqual([])

  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await rowsAt(fresh, 0, SOME_BUCKETS)).toBe(0)
  expect(await rowsAt(fresh, 1, SOME_BUCKETS)).toBe(moved)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})
