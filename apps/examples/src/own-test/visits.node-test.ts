import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DataStore, memoryShards, startCleaner, type Cleaner } from 'looseleaf'
import { mostVisited, visit, Visits } from './visits.ts'

// An open store keeps its process alive. So `after` closes everything that `before` opens: the cleaner first, then the store.
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

test('concurrent visits are all counted', async () => {
  const counts = await Promise.all(Array.from({ length: 10 }, () => visit(store, '/')))
  assert.equal(Math.max(...counts), 10)
})

test('the most visited pages come first', async () => {
  await using another = await DataStore.open({
    shards: memoryShards(2),
    indexes: Visits.indexes,
    migrate: true,
  })
  for (const path of ['/a', '/b', '/b', '/c', '/b', '/c']) await visit(another, path)
  assert.deepEqual(
    (await mostVisited(another, 2)).map(({ path, count }) => [path, count]),
    [
      ['/b', 3],
      ['/c', 2],
    ],
  )
})
