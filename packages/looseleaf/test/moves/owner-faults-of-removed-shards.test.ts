import type { Driver } from '@looseleaf/core'
import type { ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { announceMove, ownerFaults, type OwnerFault } from '@looseleaf/protocol/internal'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from './stores.ts'

/** Shard 0 gave ten buckets up to shard 2, which was removed later. */
const SOURCE = {
  owns: '10-1365',
  away: [{ move: 1, attempt: 1, buckets: '0-9', to: 2, end: 1, emptied: 2 }],
}
const ARRIVED = { move: 2, attempt: 1, from: 2, buckets: '0-9', end: 1, begin: 2, afterAddedId: 0 }

async function setServes(driver: Driver, number: number, serves: ShardServes): Promise<void> {
  const shard = driver.shards[number]!
  await changeServes(shard, (await loadShardCatalog(shard))!, serves)
}

/** Makes three shards, of which the last was removed. */
async function driverOf(): Promise<Driver> {
  const driver = await memoryShards(3).connect()
  onTestFinished(() => driver.close())
  await (await openStore(driver)).close()
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const [first, second, third] = layout!.shards
    const shards = [
      { ...first!, buckets: '10-1365' },
      { ...second!, buckets: '0-9,1366-4095' },
      { ...third!, buckets: '', state: 'removed' as const, away: [] },
    ]
    return { ...contents, layout: { ...layout!, revision: 1, moves: [], shards } }
  })
  return driver
}

/** Returns the faults if shard 1 has these records. */
async function faultsWith(serves: ShardServes, source: ShardServes = SOURCE): Promise<readonly OwnerFault[]> {
  const driver = await driverOf()
  await setServes(driver, 0, source)
  await setServes(driver, 1, serves)
  const store = await openStore(driver)
  const faults = await ownerFaults(store.context, {})
  await store.close()
  return faults
}

test('buckets that came from a removed shard have one owner', async () => {
  expect(await faultsWith({ owns: '0-9,1366-4095', arrived: [ARRIVED] })).toEqual([])
})

test('buckets that went to a removed shard, and are nowhere else, are named', async () => {
  expect(await faultsWith({ owns: '1366-4095' })).toMatchObject([
    { buckets: '0-9', owners: [], text: expect.stringMatching(/shard 0 gave them up in move 1/) as string },
  ])
  // The layout has them on this shard, so they went on to it.
  expect(await faultsWith({ owns: '1366-4095' })).toMatchObject([
    { text: expect.stringMatching(/shard 1 went back .* Bring the server of shard 1 back/) as string },
  ])
  const full = { ...SOURCE, away: [{ ...SOURCE.away[0]!, emptied: undefined }] }
  expect(await faultsWith({ owns: '1366-4095' }, full)).toMatchObject([{ buckets: '0-9', owners: [] }])
})

test('buckets of two owners are named beside a removed shard', async () => {
  expect(await faultsWith({ owns: '0-10,1366-4095', arrived: [ARRIVED] })).toMatchObject([
    { buckets: '10', owners: [0, 1] },
  ])
})

test('a store whose first shard was removed has no faults', async () => {
  const driver = await memoryShards(3).connect()
  onTestFinished(() => driver.close())
  await (await openStore(driver)).close()
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const [first, second, third] = layout!.shards
    const removed = { ...first!, buckets: '', state: 'removed' as const, away: [] }
    const shards = [removed, { ...second!, buckets: '0-2730' }, third!]
    return { ...contents, layout: { ...layout!, revision: 1, moves: [], shards } }
  })
  const arrived = { ...ARRIVED, from: 0, buckets: '0-1365' }
  await setServes(driver, 1, { owns: '0-2730', arrived: [arrived] })
  const store = await openStore(driver)
  expect(await ownerFaults(store.context, {})).toEqual([])
  await store.close()
})

test('buckets do not move from or to a removed shard', async () => {
  const store = await openStore(await driverOf())
  for (const plan of [
    { from: 0, to: 2, buckets: '1' },
    { from: 2, to: 0, buckets: '4000' },
  ])
    await expect(announceMove(store.context, plan)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('two shards, below 3, that were not removed') as string,
    })
  await store.close()
})
