import type { Driver } from '@looseleaf/core'
import { checkIndex, sweep } from '@looseleaf/cleaner'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { checkIndexes, contentsOf, filledStore, indexes, openStore, SOME_BUCKETS } from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }

/**
 * Opens a store for a cleaner whose process sleeps before its first call of this operation, until a move by another process has ended. It
 * wakes with the catalog from before the move.
 */
async function openSleeper(
  driver: Driver,
  sleepsBefore: string,
): Promise<{ readonly store: DataStore; readonly hasSlept: () => boolean }> {
  // The sleeper's time goes on while it sleeps.
  const time = leapingTime()
  const mover = await openStore(driver, time)
  let slept: Promise<unknown> | undefined
  const sleepy = faultyDriver(driver, ({ operation }) => ({
    before: async () => {
      if (operation === sleepsBefore) await (slept ??= moveBuckets(mover, plan))
    },
  }))
  const store = await DataStore.open({
    shards: keepOpen(sleepy),
    indexes,
    queryTimeMs: 5_000,
    time,
  })
  return { store, hasSlept: () => slept !== undefined }
}

test('a cleaner that slept through a move judges rows by the entities at their new shard', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 120))
  const { store, hasSlept } = await openSleeper(driver, 'readBounded')
  await sweep(store)
  expect(hasSlept()).toBe(true)
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkIndexes(fresh)
})

/** Deletes the rows of the moving entities from the index of ranks. */
async function loseRanks({ context }: DataStore): Promise<void> {
  const { catalog, driver } = context
  const isIn = entitiesIn(context, SOME_BUCKETS)
  const byRank = catalog.current().indexes.find(({ name }) => name === 'by_rank')!
  const table = driver.shards[0]!.index(tableSpec(byRank))
  const rows = await table.scan({ prefix: [], order: 'asc', limit: 1_000 })
  const lost = rows.filter(({ entityId }) => isIn(entityId))
  await table.remove(lost.map(({ key, entityId, version }) => ({ key, entityId, before: version + 1 })))
  expect(lost.length).toBeGreaterThan(10)
}

test('a row that a cleaner adds to the old shard behind a mover is added to the new shard as well', async () => {
  const driver = await memoryShards(2).connect()
  await loseRanks(await filledStore(driver, 120))
  const { store, hasSlept } = await openSleeper(driver, 'upsert')
  await sweep(store)
  expect(hasSlept()).toBe(true)
  await checkIndexes(await openStore(driver))
})

/** Opens a store whose next walk over all entities reads shard 1 before some move there, and shard 0 afterwards. */
async function openOvertaken(driver: Driver): Promise<{ readonly store: DataStore; begin(): void }> {
  const time = leapingTime()
  const mover = await openStore(driver, time)
  const isRead = Promise.withResolvers<void>()
  let hasBegun = false
  let moved: Promise<unknown> | undefined
  const slow = faultyDriver(driver, ({ operation, shard }) => {
    if (operation !== 'pageByAdded' || !hasBegun) return undefined
    if (shard === 1) return { after: () => isRead.resolve() }
    return { before: () => (moved ??= isRead.promise.then(() => moveBuckets(mover, plan))) as Promise<void> }
  })
  onTestFinished(() => expect(moved).toBeDefined())
  const store = await DataStore.open({ shards: keepOpen(slow), indexes, queryTimeMs: 5_000, time })
  return { store, begin: () => void (hasBegun = true) }
}

test('a sweep adds the missing rows of entities that move to a shard that it has read, before it reads their old one', async () => {
  const driver = await memoryShards(2).connect()
  await loseRanks(await filledStore(driver, 120))
  const { store, begin } = await openOvertaken(driver)
  begin()
  await sweep(store)
  await checkIndexes(await openStore(driver))
})

test('a check compares entities that move to a shard that it has read, before it reads their old one', async () => {
  const driver = await memoryShards(2).connect()
  await loseRanks(await filledStore(driver, 120))
  const missing = (await checkIndex(await openStore(driver), 'by_rank')).missing
  const { store, begin } = await openOvertaken(driver)
  begin()
  expect(await checkIndex(store, 'by_rank')).toMatchObject({ missing })
  expect(missing).toBeGreaterThan(10)
})
