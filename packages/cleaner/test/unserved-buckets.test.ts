import type { Driver } from '@looseleaf/core'
import type { ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { tunedCleanIndex } from '../src/internal.ts'
import { byTag, byUser, openStore } from './stores.ts'

// Cleaning while shard 0 has given up buckets that shard 1 has not begun to serve.

const BUCKETS = '0-1023'

let driver: Driver
let time: LeapingTime
let store: DataStore
let plan: FaultPlan
let waits: number
let onSleep: () => unknown

beforeEach(async () => {
  const leaping = leapingTime()
  time = {
    ...leaping,
    async sleep(milliseconds, signal) {
      await onSleep()
      return leaping.sleep(milliseconds, signal)
    },
  }
  plan = () => undefined
  onSleep = () => undefined
  waits = 0
  driver = await memoryShards(2).connect()
  store = await openStore({
    driver: faultyDriver(driver, (call) => plan(call)),
    time,
    indexes: [byUser, byTag],
  })
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: {
      ...layout!,
      revision: layout!.revision + 1,
      moves: [{ id: 1, from: 0, to: 1, buckets: BUCKETS, phase: 'target' }],
    },
  }))
  await serve(0, { owns: '1024-2047', away: [{ move: 1, attempt: 1, buckets: BUCKETS, to: 1, end: 1 }] })
})

async function serve(number: number, serves: ShardServes): Promise<void> {
  const shard = driver.shards[number]!
  expect(await changeServes(shard, (await loadShardCatalog(shard))!, serves)).toBeDefined()
}

/** Lets shard 1 serve the buckets. */
const begin = (): Promise<void> =>
  serve(1, {
    owns: `${BUCKETS},2048-4095`,
    arrived: [{ move: 1, attempt: 1, buckets: BUCKETS, from: 0, end: 1, begin: 2, afterAddedId: 0 }],
  })

const clean = () => tunedCleanIndex(store, undefined, { pollMs: 10_000, onWait: () => void waits++ })

test('a clean fails after half a minute in which no shard serves some buckets, and so does the next call', async () => {
  for (let call = 0; call < 2; call++) {
    const before = time.now()
    await expect(clean()).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      message: expect.stringContaining('no owner was found 4 times in a row'),
    })
    expect(time.now() - before).toBe(30_000)
  }
})

test('a clean goes on when a shard begins to serve the buckets, however long its first look took', async () => {
  let isSlow = true
  plan = ({ shard, operation }) => {
    if (shard !== 1 || operation !== 'flush' || !isSlow) return undefined
    isSlow = false
    return { before: () => time.leap(40_000) }
  }
  onSleep = begin
  expect(await clean()).toMatchObject({ complete: true, indexes: [{ state: 'ready' }, {}] })
  expect([waits, isSlow]).toEqual([1, false])
})
