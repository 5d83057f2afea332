import { memoryShards } from '@looseleaf/driver-sqlite'
import { moduloRouter } from '@looseleaf/router'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

test('a store whose router has no buckets scans its entities and follows their changes', async () => {
  await using store = await DataStore.open({
    shards: memoryShards(2),
    router: moduloRouter({ shards: 2 }),
    migrate: true,
  })
  const ids = (await store.putMany([{ n: 1 }, { n: 2 }, { n: 3 }])).map(({ id }) => id).toSorted()
  const scanned = await Array.fromAsync(store.scan())
  expect(scanned.map(({ id }) => id).toSorted()).toEqual(ids)
  const changed: string[] = []
  for await (const { id } of store.changes({ from: 'beginning', pollMs: 10 }))
    if (changed.push(id) === ids.length) break
  expect(changed.toSorted()).toEqual(ids)
})
