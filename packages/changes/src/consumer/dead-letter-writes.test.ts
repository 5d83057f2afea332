import { parseId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readDeadLetters } from '../report/manage-consumers.ts'
import { Search, until } from '../../test/search.ts'

let search: Search
let store: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
})
afterEach(() => search.end(store))

const shardOf = (id: string): number => store.context.router.shardOfId(parseId(id))

it('a shard that does not accept dead letters takes no handlers from the changes of other shards', async () => {
  let hang: Promise<void> | undefined
  search.plan = ({ shard, operation }) =>
    hang !== undefined && shard === 1 && operation === 'claim' ? { before: () => hang } : undefined
  const handled = new Set<string>()
  const consumer = search.start(
    store,
    ({ id }) => {
      if (shardOf(id) === 1) throw new Error('never')
      handled.add(id)
    },
    { concurrency: 2, maxAttempts: 1 },
  )
  await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
  const { promise, resolve: release } = Promise.withResolvers<void>()
  hang = promise
  const ids = Array.from({ length: 80 }, () => store.newId())
  const bad = ids.filter((id) => shardOf(id) === 1)
  await store.putMany(bad.map((id) => ({ id })))
  await until(() => consumer.status().failed >= 8)
  const good = ids.filter((id) => shardOf(id) === 0)
  await store.putMany(good.map((id) => ({ id })))
  await until(() => good.every((id) => handled.has(id)))
  hang = undefined
  release()
  await until(async () => (await readDeadLetters(store, 'search')).length === bad.length)
  expect((await readDeadLetters(store, 'search')).map(({ id }) => id).toSorted()).toEqual(bad.toSorted())
  expect(consumer.status()).toMatchObject({ deadLettered: bad.length, failed: bad.length })
})

it('dead letters of a partition that arise at the same time share a write', async () => {
  let saves = 0
  search.plan = ({ operation }) => (operation === 'save' && saves++, undefined)
  search.start(
    store,
    () => {
      throw new Error('never')
    },
    { concurrency: 100, maxAttempts: 1 },
  )
  const ids = Array.from({ length: 320 }, () => store.newId())
  await store.putMany(ids.map((id) => ({ id })))
  await until(async () => (await readDeadLetters(store, 'search')).length === 320)
  expect(saves).toBeLessThan(160)
})
