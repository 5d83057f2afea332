import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

test('a mover that was suspended while another one finished its move reports the move as done', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const before = await contentsOf(store)
  let other: Promise<unknown> | undefined
  const suspended = faultyDriver(driver, ({ operation }) => {
    if (operation !== 'receive' || other !== undefined) return undefined
    other = moveBuckets(store, PLAN)
    return { before: () => other as Promise<void> }
  })
  const mover = await openStore(suspended, leapingTime())
  expect(await moveBuckets(mover, PLAN, { leaseMs: 1 })).toMatchObject({ state: 'done' })
  expect(await other).toMatchObject({ state: 'done' })
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})
