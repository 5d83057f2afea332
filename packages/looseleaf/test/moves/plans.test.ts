import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore } from './stores.ts'

/** Returns the buckets of each shard, and its bytes. */
async function sharesOf(store: DataStore): Promise<readonly (readonly [buckets: number, bytes: number])[]> {
  const shards = await store.shards.list({ sizes: true })
  return shards.map(({ buckets, size }) => [buckets!, size!.bytes])
}

test('a rebalance evens the bytes of three shards, and a second one moves nothing', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 1_200)
  await store.shards.move({ from: 2, to: 0, buckets: '2731-4095' })
  const before = await contentsOf(store)
  expect((await sharesOf(store))[2]).toEqual([0, 0])
  const plan = await store.shards.plan('rebalance')
  expect(plan).toMatchObject({ problems: [] })
  const reports = await store.shards.rebalance()
  expect(reports.map(({ from, to, buckets, state }) => ({ from, to, buckets, state }))).toEqual(
    plan.moves.map(({ from, to, buckets }) => ({ from, to, buckets, state: 'done' })),
  )
  const bytes = (await sharesOf(store)).map(([, each]) => each)
  expect(Math.max(...bytes) / Math.min(...bytes)).toBeLessThan(1.1)
  expect(await store.shards.rebalance()).toEqual([])
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a drain leaves nothing on a shard, evens the others, and no bucket moves there until it is stopped', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 600)
  const before = await contentsOf(store)
  const reports = await store.shards.drain(1)
  expect(reports.map(({ from, state }) => [from, state])).toEqual([
    [1, 'done'],
    [1, 'done'],
  ])
  const shares = await sharesOf(store)
  expect(shares[1]).toEqual([0, 0])
  expect(Math.abs(shares[0]![1] / shares[2]![1] - 1)).toBeLessThan(0.1)
  expect(await store.shards.list()).toMatchObject([
    { state: 'serving' },
    { state: 'draining', buckets: 0 },
    {},
  ])
  await expect(store.shards.move({ from: 0, to: 1, buckets: '0' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/shard 1 is being drained/),
  })
  expect(await store.shards.drain(1)).toEqual([])
  await store.shards.stopDraining(1)
  expect(await store.shards.move({ from: 0, to: 1, buckets: '0' })).toMatchObject({ state: 'done' })
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})
