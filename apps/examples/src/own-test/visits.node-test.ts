import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DataStore, memoryShards, startCleaner, type Cleaner } from 'looseleaf'
import { mostVisited, visit, Visits } from './visits.ts'

// A store keeps its process alive until it is closed: what `before` opens, `after` closes, the cleaner first.
let store: DataStore
let cleaner: Cleaner
before(async () => {
  store = await DataStore.open({ shards: memoryShards(2), indexes: Visits.indexes, migrate: true })
  cleaner = startCleaner(store)
})
after(async () => {
  await cleaner.stop()
  await store.close()
})

test('visits are counted, whoever counts at the same time', async () => {
  const counts = await Promise.all(Array.from({ length: 10 }, () => visit(store, '/')))
  assert.equal(Math.max(...counts), 10)
})

test('the most visited come first', async () => {
  await using own = await DataStore.open({ shards: memoryShards(2), indexes: Visits.indexes, migrate: true })
  for (const path of ['/a', '/b', '/b', '/c', '/b', '/c']) await visit(own, path)
  assert.deepEqual(
    (await mostVisited(own, 2)).map(({ path, count }) => [path, count]),
    [
      ['/b', 3],
      ['/c', 2],
    ],
  )
})
