import { memoryShards } from '@looseleaf/driver-sqlite'
import type { Driver, Time } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { expect } from 'vitest'
import { checkIndexes, checkQueries, fill, openStore, SOME_BUCKETS } from './stores.ts'

// Stores whose indexes are filled while buckets move to and fro.

export const there = { from: 0, to: 1, buckets: SOME_BUCKETS }
export const back = { from: 1, to: 0, buckets: SOME_BUCKETS }
export const moving = { groups: 2, checkpointMs: 0, leaseMs: 1 }
/** Small pages, so that a move may take place between any two of them. */
export const filling = { pageSize: 6, checkpointMs: 0, pollMs: 1, settleMs: 1, leaseMs: 1 }
export const COUNT = 24

/** Returns the shards of a store whose entities were written before it has any index. */
export async function shardsWithoutIndexes(time: Time): Promise<Driver> {
  const driver = await memoryShards(2).connect()
  const store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time })
  await fill(store, COUNT)
  await store.close()
  return driver
}

/** Checks that every index is ready, answers every query, and has exactly the rows and claims of the entities. */
export async function expectFilled(driver: Driver): Promise<void> {
  const fresh = await openStore(driver)
  for (const { state } of fresh.context.catalog.current().indexes) expect(state).toBe('ready')
  await checkQueries(fresh)
  await checkIndexes(fresh)
}
