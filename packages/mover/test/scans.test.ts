import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '../src/move-buckets.ts'
import { contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const COUNT = 1_400

/** Half of the buckets of shard 1 in a store of two shards. */
const OTHER_BUCKETS = '2048-3071'

/** Scans a store, and calls `between` after this many entities. Returns the last state of each entity, and the number of repeats. */
async function scanAround(
  store: DataStore,
  after: number,
  between: () => Promise<unknown>,
): Promise<{ readonly found: ReadonlyMap<string, string>; readonly repeats: number }> {
  const found = new Map<string, string>()
  let count = 0
  for await (const { id, version, ...bag } of store.scan()) {
    found.set(id, JSON.stringify([version, bag]))
    if (++count === after) await between()
  }
  return { found, repeats: count - found.size }
}

test.each([
  ['from the shard that is read first', { from: 0, to: 1, buckets: SOME_BUCKETS }, 1],
  ['from the shard that is read first, late', { from: 0, to: 1, buckets: SOME_BUCKETS }, 600],
  ['to the shard that is read first', { from: 1, to: 0, buckets: OTHER_BUCKETS }, 1],
  ['to the shard that is read first, when its table has been read', { from: 1, to: 0, buckets: OTHER_BUCKETS }, 1_000],
])('a scan misses no entity whose bucket moves %s', async (_, plan, after) => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, COUNT)
  const other = await openStore(driver, leapingTime())
  const before = await contentsOf(store)
  const { found, repeats } = await scanAround(store, after, () => moveBuckets(other, plan))
  expect(found).toEqual(before)
  // Only entities of moved buckets are read a second time.
  expect(repeats).toBeLessThan(before.size / 3)
})

test('a scan during a move gives the state of the owner, and neither copies nor leftovers', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const other = await openStore(driver, leapingTime())
  const before = await contentsOf(store)
  const scans: Promise<ReadonlyMap<string, string>>[] = []
  const start = (): void => {
    scans.push(scanAround(other, 0, () => Promise.resolve()).then(({ found }) => found))
  }
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS }, { onProgress: start })
  expect(scans.length).toBeGreaterThan(5)
  for (const found of await Promise.all(scans)) expect(found).toEqual(before)
})

test('a scan does not give an entity that was deleted after its bucket had moved', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 200)
  const other = await openStore(driver, leapingTime())
  const before = await contentsOf(store)
  let hasDeleted = false
  const left: Promise<ReadonlyMap<string, string>>[] = []
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS }, {
    onProgress: ({ step }) => {
      if (step !== 'switching' || hasDeleted) return
      hasDeleted = true
      const deleteAll = async (): Promise<ReadonlyMap<string, string>> => {
        await Promise.all([...before.keys()].map((id) => other.delete(id)))
        return contentsOf(other)
      }
      left.push(deleteAll())
    },
  })
  expect(left).toHaveLength(1)
  expect(await left[0]).toEqual(new Map())
})
