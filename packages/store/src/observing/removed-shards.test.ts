import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketRouter, moduloRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

test.each([
  ['that names its shard', 'fixed layout', 'no more', moduloRouter({ shards: 1 }), 'memory 0', 0],
  ['that names its shard', 'layout of buckets', 'once more', bucketRouter({ shards: 1 }), 'memory 0', 1],
  ['that names no shard', 'layout of buckets', 'no more', bucketRouter({ shards: 1 }), undefined, 0],
])('an error %s, in a store with a %s, reads the catalogs %s', async (_, __, ___, router, shard, count) => {
  const driver = await memoryShards(1).connect()
  let isDown = false
  let loads = 0
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'a fault on purpose', { shard })
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
