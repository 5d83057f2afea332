import { parseId, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PARTITIONS } from '@looseleaf/protocol/internal'
import { Search, until } from '../../test/search.ts'
import { discardDeadLetters, readDeadLetters } from '../report/manage-consumers.ts'
import { addLetters, editLetters } from './dead-letters.ts'

let search: Search
let store: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
})
afterEach(() => search.end(store))

const MOST = 10_000

it('an edit of dead letters claims only the lists that have one of them', async () => {
  const letter = { id: store.newId(), version: 1, attempts: 2, error: 'of before', failedAt: 1 }
  await addLetters(store.context, 'search', { shard: 1, partition: 3 }, [letter], {})
  const claims: unknown[] = []
  search.plan = ({ shard, table, operation }) =>
    void (table === 'tasks' && operation === 'claim' && claims.push(shard))
  expect(
    await editLetters(
      store.context,
      'search',
      () => true,
      () => [],
      {},
    ),
  ).toBe(1)
  expect(claims).toEqual([1])
})

it('a partition has at most 10,000 dead letters: beyond that a change is still retried, and becomes a letter once there is room', async () => {
  const { id: bad } = await store.put({})
  const shard = store.context.router.shardOfId(parseId(bad))
  const [row] = await search.memory.shards[shard]!.entities.pageByAdded(0, 1)
  const place = { shard, partition: row!.addedId % PARTITIONS }
  const letterOf = (id: EntityId) => ({ id, version: 1, attempts: 2, error: 'of before', failedAt: 1 })
  const full = Array.from({ length: MOST }, () => store.newId())
  const add = (ids: readonly EntityId[]): Promise<readonly boolean[]> =>
    addLetters(store.context, 'search', place, ids.map(letterOf), {})
  expect((await add(full)).every((isAdded) => isAdded)).toBe(true)
  // A letter replaces an older one of its entity, so it needs no room.
  expect(await add([store.newId(), full[7]!, store.newId()])).toEqual([false, true, false])

  let attempts = 0
  const consumer = search.start(
    store,
    () => {
      attempts++
      throw new Error('never')
    },
    { maxAttempts: 2 },
  )
  await until(() => attempts > 4)
  expect(consumer.status()).toMatchObject({ deadLettered: 0 })
  expect(consumer.status().shards[shard]).toMatchObject({ failing: 1 })
  const lettersBefore = await readDeadLetters(store, 'search')
  expect(lettersBefore).toHaveLength(MOST)
  expect(lettersBefore.some(({ id }) => id === bad)).toBe(false)
  expect(await discardDeadLetters(store, 'search', [full[0]!])).toBe(1)
  await until(() => consumer.status().deadLettered === 1)
  const letters = await readDeadLetters(store, 'search')
  expect(letters).toHaveLength(MOST)
  expect(letters.at(-1)).toMatchObject({ id: bad, error: 'never' })
  expect(consumer.status().shards[shard]).toMatchObject({ failing: 0 })
})
