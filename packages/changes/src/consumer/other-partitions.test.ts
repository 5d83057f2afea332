import { parseId } from '@looseleaf/core'
import { partitionNumbers, PARTITIONS } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { Search, until } from '../../test/search.ts'
import { readLetters } from '../records/dead-letters.ts'

test('a failing change of an entity that was put again after its purge is retried by the partition that has it then', async () => {
  const search = await Search.begin()
  const store = await search.openStore()
  const { id } = await store.put({ n: 1 })
  const number = store.context.catalog.current().placement.shardOfId(parseId(id))
  const shard = search.memory.shards[number]!
  const partitionOf = async (): Promise<number> =>
    (await shard.entities.checksums([parseId(id)]))[0]!.addedId % PARTITIONS
  const before = await partitionOf()
  let [atOnce, most] = [0, 0]
  const states: unknown[] = []
  const { promise: slow, resolve: end } = Promise.withResolvers<void>()
  const consumer = search.start(
    store,
    async ({ entity }) => {
      if (entity?.n === 0) return
      if (entity?.n !== 2) throw new Error('The search engine is down.')
      most = Math.max(most, ++atOnce)
      states.push(entity.n)
      await slow
      atOnce--
    },
    { leaseMs: 300, maxAttempts: 100_000, onError: () => {} },
  )
  await until(() => consumer.status().shards[number]?.failing === 1)
  await store.delete(id)
  const { epoch } = store.context.catalog.current().shards[number]!
  await shard.entities.discard([parseId(id)], { epoch })
  // Some databases give the place of a deleted row again.
  await store.put({ n: 0 }, { id: store.newId({ near: id }) })
  await store.put({ n: 2 }, { id })
  expect(await partitionOf()).not.toBe(before)
  const letters = async (): Promise<number> => {
    const { moved } = await readLetters(store.context, 'search', number, partitionNumbers, {})
    return [...moved.values()].flat().length
  }
  await until(async () => most > 1 || (await letters()) === 1)
  end()
  await until(() => consumer.status().shards[number]?.failing === 0)
  await until(async () => (await letters()) === 0)
  expect(most).toBe(1)
  await search.end(store)
})
