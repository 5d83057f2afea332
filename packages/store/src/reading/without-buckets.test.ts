import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { moduloRouter } from '@looseleaf/router'
import { keepOpen } from '@looseleaf/testkit'
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

test('a store that was made before there were layouts scans its entities', async () => {
  const memory = await memoryShards(2).connect()
  const first = await DataStore.open({ shards: keepOpen(memory), migrate: true })
  const ids = (await first.putMany([{ n: 1 }, { n: 2 }, { n: 3 }])).map(({ id }) => id).toSorted()
  await first.close()
  await changeCatalogContents(memory, (contents) => ({ ...contents, layout: undefined }))
  await using store = await DataStore.open({ shards: keepOpen(memory) })
  expect(store.context.catalog.current().layout).toBeUndefined()
  const scanned = await Array.fromAsync(store.scan())
  expect(scanned.map(({ id }) => id).toSorted()).toEqual(ids)
})
