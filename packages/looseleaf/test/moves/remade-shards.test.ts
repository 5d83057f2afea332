import { parseId } from '@looseleaf/core'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { checkWhole, shardFiles, type ShardFiles } from './remade.ts'
import { contentsOf, fill, itemOf } from './stores.ts'

/** Returns the entities of a store that are on other shards than these, by id. */
async function keptWithout(store: DataStore, lost: readonly number[]): Promise<ReadonlyMap<string, string>> {
  const { placement } = await store.context.catalog.reload()
  const all = await contentsOf(store)
  return new Map([...all].filter(([id]) => !lost.includes(placement.shardOfId(parseId(id)))))
}

/** Puts an entity into one of these buckets, and returns the number of the shard that has it. */
async function putInto(store: DataStore, buckets: string): Promise<number> {
  const isIn = entitiesIn(store.context, buckets)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  await store.put({ ...itemOf(1_000) }, { id })
  const { shards } = store.context.driver
  const rows = await Promise.all(shards.map(({ entities }) => entities.checksums([parseId(id)])))
  await store.delete(id)
  return rows.findIndex(([row]) => row !== undefined)
}

/** Makes the store anew after these shards were lost. Returns it with the entities that it had elsewhere. */
async function remade(
  files: ShardFiles,
  first: DataStore,
  lost: readonly number[],
): Promise<{ readonly store: DataStore; readonly kept: ReadonlyMap<string, string> }> {
  const kept = await keptWithout(first, lost)
  await first.close()
  for (const shard of lost) files.lose(shard)
  return { store: await files.open({ acceptEmptyShards: true }), kept }
}

test('a shard that was made anew does not serve empty buckets that another source still has', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  const isKept = entitiesIn(first.context, '684-1365,2731-4095')
  const kept = new Map([...(await contentsOf(first))].filter(([id]) => isKept(parseId(id))))
  await first.shards.move({ from: 0, to: 1, buckets: '0-683' })
  await moveUntil(first, 'emptying', { from: 2, to: 1, buckets: '2731-3413' })
  await first.close()
  files.lose(1)
  const store = await files.open({ acceptEmptyShards: true })
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  await checkWhole(store, kept)
})

test.each([0, 2])(
  'moves of buckets that went on to shard %i end after the shard between was made anew',
  async (last) => {
    const files = shardFiles(3)
    const first = await files.open()
    await fill(first, 120)
    await first.shards.move({ from: 0, to: 1, buckets: '0-683' })
    await first.shards.move({ from: 1, to: last, buckets: '0-341' })
    const { store, kept } = await remade(files, first, [1])
    expect(await store.shards.repair()).toMatchObject({ problems: [] })
    expect(await putInto(store, '0-341')).toBe(last)
    expect(await putInto(store, '342-683')).toBe(1)
    await checkWhole(store, kept)
  },
)
