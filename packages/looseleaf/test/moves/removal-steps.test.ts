import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import {
  changeCatalogContents,
  changeServes,
  keptRowsMs,
  loadShardCatalog,
} from '@looseleaf/index-engine/internal'
import { REGISTRY_TASK, UNCHECKED_WAIT_MS } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filledStore, openStore } from './stores.ts'

let driver: Driver
let store: DataStore
let time: LeapingTime

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  await (await filledStore(driver, 40)).close()
  time = leapingTime()
  store = await openStore(driver, time)
  await store.shards.drain(2)
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

test('a removal ends when all processes know it and their queries have ended', async () => {
  const began = time.now()
  await store.shards.remove(2)
  expect(time.now() - began).toBe(2 * UNCHECKED_WAIT_MS + keptRowsMs(store.context.catalog.current()))
  // A repeated removal waits again, because the first call may have stopped before.
  const again = time.now()
  await store.shards.remove(2)
  expect(time.now() - again).toBe(2 * UNCHECKED_WAIT_MS + keptRowsMs(store.context.catalog.current()))
})

test('a dry run of a removal changes nothing and does not wait', async () => {
  const began = time.now()
  const { epochs } = await store.context.catalog.reload()
  await store.shards.remove(2, { dryRun: true })
  expect((await store.context.catalog.reload()).epochs).toEqual(epochs)
  expect(time.now()).toBe(began)
  await store.shards.remove(2)
  await store.shards.remove(2, { dryRun: true })
})

test('a removed shard keeps its name and the record of the buckets that it gave up, in every catalog', async () => {
  const { away } = (await loadShardCatalog(driver.shards[2]!))!.serves!
  expect(away!.length).toBeGreaterThan(0)
  await store.shards.remove(2)
  for (const shard of driver.shards)
    expect((await loadShardCatalog(shard))!.layout!.shards[2]).toEqual({
      name: 'memory 2',
      buckets: '',
      state: 'removed',
      away,
    })
})

test('a shard that has never had a bucket is removed', async () => {
  const shard = driver.shards[2]!
  await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '' })
  await store.shards.remove(2)
  expect((await loadShardCatalog(driver.shards[0]!))!.layout!.shards[2]).toMatchObject({ away: [] })
})

test('the codec entries of a removed shard are on all others', async () => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, definitions: true }))
  const flushed: number[] = []
  const added: number[] = []
  const watching = await openStore(
    faultyDriver(driver, ({ shard, table, operation }) => {
      if (table === 'codecEntries' && operation === 'add') added.push(shard)
      if (operation === 'flush' && added.includes(shard)) flushed.push(shard)
      return undefined
    }),
    leapingTime(),
  )
  await watching.shards.remove(2)
  expect(new Set(added)).toEqual(new Set([0, 1]))
  for (const shard of added) expect(flushed).toContain(shard)
})

test('a removal waits until another process has changed the consumers', async () => {
  const { tasks } = driver.shards[2]!
  await tasks.claim(REGISTRY_TASK, 'other', 60_000)
  let claims = 0
  const busy = faultyDriver(driver, ({ shard, operation, args }) => {
    if (shard !== 2 || operation !== 'claim' || args[0] !== REGISTRY_TASK) return undefined
    claims++
    return { after: async () => void (await tasks.save(REGISTRY_TASK, 'other', '', 0)) }
  })
  await (await openStore(busy, leapingTime())).shards.remove(2)
  expect(claims).toBe(2)
})

test('no shard of a router without buckets is removed', async () => {
  const router = moduloRouter({ shards: 2 })
  const fixed = await DataStore.open({ shards: memoryShards(2), router, migrate: true })
  await expect(fixed.shards.remove(1)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'The router of this store has no buckets, so its layout is fixed, and no shard can be removed.',
  })
  await fixed.close()
})
