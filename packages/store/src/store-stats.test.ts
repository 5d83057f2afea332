import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from './data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

test('stats have the lanes, the cache and the calls in progress of a store', async () => {
  const cache = { maxBytes: 10_000, maxStalenessMs: 60_000 }
  const store = await DataStore.open({
    shards: memoryShards(1),
    indexes: [byName],
    migrate: true,
    cache,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
  expect(store.stats()).toEqual({
    callsInFlight: 0,
    calls: 0,
    failures: [],
    shards: [{ name: 'memory 0', connections: undefined, lanes: [], replicas: [] }],
    removals: { kept: 0, inFlight: 0 },
    cache: {
      entities: 0,
      bytes: 0,
      hits: 0,
      misses: 0,
      followed: { shards: 0, ageMs: undefined, hits: 0, looks: 0 },
      failures: 0,
    },
  })

  const ids = await Promise.all(['ada', 'bo', 'cy'].map(async (name) => (await store.put({ name })).id))
  await store.getMany(ids)
  await store.getMany(ids)
  const reading = store.query(byName, { name: 'ada' })
  expect(store.stats().callsInFlight).toBe(1)
  await reading

  const { shards, cache: cached, removals } = store.stats()
  const lanes = Object.fromEntries(
    shards[0]!.lanes.map(({ table, kind, statements, items, waiting }) => [
      `${table} ${kind}`,
      [statements, items, waiting],
    ]),
  )
  expect(lanes).toEqual({
    'entities insert': [1, 3, 0],
    // The three of the first `getMany`. The page joins its entities.
    'entities read': [1, 3, 0],
    'index_by_name scan entities': [1, 1, 0],
  })
  expect(cached).toMatchObject({ entities: 3, hits: 3, misses: 3 })
  expect(removals).toEqual({ kept: 0, inFlight: 0 })

  await store.update(ids[0]!, () => ({ name: 'eve' }))
  expect(store.stats().removals.kept).toBe(1)
})
