import { setTimeout as sleep } from 'node:timers/promises'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { DataStore, defineIndex, watch, type Driver } from '../../src/index.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })

let driver: Driver
let store: DataStore
let mover: DataStore

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [byUser],
    migrate: true,
    queryTimeMs: 500,
  })
  mover = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], time: leapingTime() })
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

test('a watched page goes on while its entities move', async () => {
  const ids = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => (await store.put({ user: 'ada', n })).id),
  )
  await mover.close()
  // Readers of changes need a moment to get to the end of what the source gives up.
  let ahead = 0
  const time = {
    now: () => Date.now() + ahead,
    async sleep(milliseconds: number, signal?: AbortSignal) {
      const shortened = Math.min(milliseconds, 1_000)
      await sleep(shortened, undefined, { signal })
      ahead += milliseconds - shortened
    },
  }
  mover = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], time })
  const pages = watch(store, byUser, { user: 'ada' }, { limit: 20 })
  expect((await pages.next()).value!.items).toHaveLength(20)
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-2047' })
  for (const id of ids) await mover.put({ user: 'ada', n: 100 }, { id })
  // The last page has every write; without it the loop does not end.
  for await (const { items } of pages) if (items.filter(({ n }) => n === 100).length === ids.length) break
}, 40_000)
