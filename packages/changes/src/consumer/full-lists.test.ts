import { formatId, parseId, type EntityId } from '@looseleaf/core'
import { messageOf } from '@looseleaf/core/internal'
import { entitiesIn, PARTITIONS } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { gone, Search, until } from '../../test/search.ts'
import { addLetters, readLetters } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'

const PLAN = { from: 0, to: 1, buckets: '7' }
const MAX_LETTERS = 10_000

test('a change that finds no room in the full list of the owner is passed on when the owner has handled letters of the same bucket', async () => {
  const search = await Search.begin()
  const store = await search.openStore()
  const mover = await DataStore.open({ shards: keepOpen(search.memory), time: leapingTime() })
  const isIn = entitiesIn(store.context, PLAN.buckets)
  const newId = (isMoving: boolean): EntityId => {
    for (;;) {
      const id = store.newId()
      if (isIn(parseId(id)) === isMoving) return id
    }
  }
  const id = newId(true)
  await store.put({ n: 1 }, { id })
  let isDown = true
  const errors: string[] = []
  const onError = (error: unknown): void => void errors.push(messageOf(error))
  const consumer = search.start(
    store,
    () => {
      if (isDown) throw new Error('The search engine is down.')
    },
    { leaseMs: 300, maxAttempts: 100_000, onError },
  )
  await until(() => consumer.status().shards[0]?.failing === 1)
  // The source does not find the partition.
  const isAsked = ([ids]: readonly unknown[]): boolean =>
    (ids as readonly Uint8Array[]).some((of) => formatId(of) === id)
  search.plan = ({ shard, operation, args }) =>
    shard === 1 && operation === 'checksums' && isAsked(args) ? gone : undefined
  expect(await mover.shards.move(PLAN)).toMatchObject({ state: 'emptying' })
  const [row] = await search.memory.shards[1]!.entities.checksums([parseId(id)])
  const partition = row!.addedId % PARTITIONS
  // The owner takes the first ones up.
  const ids = Array.from({ length: MAX_LETTERS + 50 }, (_, i) => newId(i < 50))
  const letters = ids.map((of): Failing => ({ id: of, version: 1, attempts: 1, error: '', failedAt: 1 }))
  const add = (some: readonly Failing[]): Promise<readonly boolean[]> =>
    addLetters(store.context, 'search', { shard: 1, partition, list: 'moved' }, some, {})
  const count = async (): Promise<number> =>
    (await readLetters(store.context, 'search', 1, [partition], {})).moved.get(partition)!.length
  await add(letters.slice(0, MAX_LETTERS))
  await until(async () => (await count()) < MAX_LETTERS)
  await add(letters.slice(MAX_LETTERS))
  expect(await count()).toBe(MAX_LETTERS)
  search.plan = () => undefined
  await until(() => errors.some((text) => text.includes(`partition ${partition} of memory 1 has too many`)))
  isDown = false
  await until(() => consumer.status().shards[0]?.failing === 0)
  expect(await count()).toBeLessThan(MAX_LETTERS)
  await mover.close()
  await search.end(store)
})

/** Failing changes that each shard has to pass on to the other; half of those that a partition may have. */
const EXCHANGED = 50

test('two shards that have changes to pass on to each other, and whose lists are full, get room by the letters that they can handle', async () => {
  const search = await Search.begin()
  const store = await search.openStore()
  const mover = await DataStore.open({ shards: keepOpen(search.memory), time: leapingTime() })
  const partitionsOf = async (shard: number, ids: readonly EntityId[]): Promise<readonly number[]> =>
    (await search.memory.shards[shard]!.entities.checksums(ids.map(parseId))).map(
      (row) => row!.addedId % PARTITIONS,
    )
  const plans = [PLAN, { from: 1, to: 0, buckets: '3000' }]
  const exchanged = await Promise.all(
    plans.map(async ({ from, to, buckets }) => {
      const isIn = entitiesIn(store.context, buckets)
      let first = store.newId()
      while (!isIn(parseId(first))) first = store.newId()
      const near = (count: number): EntityId[] =>
        Array.from({ length: count }, () => store.newId({ near: first }))
      // Put in the order of their ids, in which they are copied, so that those of one partition meet in one again.
      const all = near(EXCHANGED * PARTITIONS).toSorted()
      for (const id of all) await store.put({}, { id })
      const partitions = await partitionsOf(from, all)
      return { to, ids: all.filter((_, i) => partitions[i] === 0), near }
    }),
  )
  const failing = new Set(exchanged.flatMap(({ ids }) => ids))
  let isDown = true
  const errors: string[] = []
  const consumer = search.start(
    store,
    ({ id, entity }) => {
      if (isDown && (entity === undefined || failing.has(id))) throw new Error('The search engine is down.')
    },
    {
      leaseMs: 2_400,
      retryMs: 200,
      maxAttempts: 1_000_000,
      onError: (error) => void errors.push(messageOf(error)),
    },
  )
  const failingOn = (): readonly unknown[] => consumer.status().shards.map((shard) => shard.failing)
  await until(() => failingOn().every((count, shard) => count === exchanged[shard]!.ids.length))
  // Neither shard passes anything on before both lists are full.
  search.plan = ({ operation, args: [ids] }) =>
    operation === 'checksums' && (ids as readonly Uint8Array[]).some((of) => failing.has(formatId(of)))
      ? gone
      : undefined
  for (const plan of plans) expect(await mover.shards.move(plan)).toMatchObject({ state: 'emptying' })
  const lists = await Promise.all(
    exchanged.map(async ({ to, ids, near }) => {
      const [partition, ...others] = new Set(await partitionsOf(to, ids))
      expect(others).toEqual([])
      const other = near(MAX_LETTERS + 50).map((id): Failing => ({
        id,
        version: 1,
        attempts: 1,
        error: '',
        failedAt: 1,
      }))
      const place = { shard: to, partition: partition!, list: 'moved' } as const
      const add = (some: readonly Failing[]): Promise<unknown> =>
        addLetters(store.context, 'search', place, some, {})
      const letters = async (): Promise<readonly string[]> =>
        (await readLetters(store.context, 'search', to, [partition!], {})).moved
          .get(partition!)!
          .map(({ id }) => id)
      await add(other.slice(0, MAX_LETTERS))
      await until(async () => (await letters()).length < MAX_LETTERS)
      await add(other.slice(MAX_LETTERS))
      expect(await letters()).toHaveLength(MAX_LETTERS)
      return { ...place, ids, letters }
    }),
  )
  search.plan = () => undefined
  for (const { shard, partition } of lists)
    await until(() =>
      errors.some((text) => text.includes(`partition ${partition} of memory ${shard} has too many`)),
    )
  isDown = false
  for (const { ids, letters } of lists)
    await until(async () => {
      const found = new Set(await letters())
      return ids.every((id) => found.has(id))
    })
  await mover.close()
  await search.end(store)
})
