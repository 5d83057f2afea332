import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketRouter, moduloRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

test.each([
  ['fixed layout', 'no more', moduloRouter({ shards: 1 }), 0],
  ['layout of buckets', 'once more', bucketRouter({ shards: 1 }), 1],
])('a failing call in a store with a %s reads the catalogs %s', async (_, __, router, count) => {
  const driver = await memoryShards(1).connect()
  let isDown = false
  let loads = 0
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'a fault on purpose', { shard: 'memory 0' })
  const faulty = faultyDriver(driver, ({ table, operation }) => {
    if (!isDown) return undefined
    if (table === 'catalog') loads++
    return operation === 'read' ? { before: () => Promise.reject(down) } : undefined
  })
  const store = await DataStore.open({ shards: keepOpen(faulty), router, migrate: true })
  const { id } = await store.put({ n: 1 })
  isDown = true
  await expect(store.get(id)).rejects.toEqual(down)
  expect(loads).toBe(count)
  await store.close()
  await driver.close()
})
