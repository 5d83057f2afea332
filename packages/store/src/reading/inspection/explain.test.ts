import { parseId, type Driver } from '@looseleaf/core'
import type { IndexScan } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

const SHARDS = 3
let memory: Driver
let store: DataStore
let names: readonly string[]
/** Operations sent to the databases. */
let operations: string[]
/** Sum of the limits of all scans. */
let rowLimits: number

beforeEach(async () => {
  memory = await memoryShards(SHARDS).connect()
  names = memory.shards.map(({ name }) => name)
  const driver = faultyDriver(memory, ({ operation, args: [scans] }) => {
    operations.push(operation)
    if (operation === 'scanMany') for (const { limit } of scans as readonly IndexScan[]) rowLimits += limit
    return undefined
  })
  operations = []
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser, byTag], migrate: true })
  operations = []
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

const shardOf = (user: string): string => names[store.context.router.shardOfKey(Buffer.from(user))]!

it('explain returns the index, the shards and the number of rows without reading entities', async () => {
  for (let n = 0; n < 20; n++) await store.put({ user: n < 12 ? 'ada' : 'bob', n, tags: [] })
  operations = []
  expect(await store.explain(byUser, { user: 'ada', n: { gte: 5 } }, { limit: 3, order: 'desc' })).toEqual({
    index: 'by_user',
    generation: 1,
    table: 'index_by_user',
    shards: [shardOf('ada')],
    scatter: false,
    ranges: 1,
    estimatedRows: 7,
    isAtLeast: false,
    limit: 3,
    // The ids are spread by chance.
    localShare: expect.any(Number),
    joinsEntities: expect.any(Boolean),
  })
  expect(operations).toEqual(['scanMany'])
})

it('explain counts the rows of all ranges and shards', async () => {
  const users = Array.from({ length: 30 }, (_, i) => `user ${i}`)
  for (const user of users) await store.put({ user, n: 1, tags: ['x', 'y'] })
  expect(new Set(users.map(shardOf)).size).toBe(SHARDS)
  operations = []
  expect(await store.explain(byUser, { user: { in: users } })).toMatchObject({
    shards: names,
    // The values tell the shards.
    scatter: false,
    ranges: 30,
    estimatedRows: 30,
    limit: 50,
  })
  // One call per shard for the whole value list.
  expect(operations).toHaveLength(SHARDS)
  expect(await store.explain(byTag, { tags: { in: ['x', 'y', 'z'] } }, { scatter: true })).toMatchObject({
    shards: names,
    scatter: true,
    ranges: 3,
    estimatedRows: 60,
  })
})

it('explain counts up to 1,000 rows over all ranges', async () => {
  const put = async (tag: string, count: number): Promise<void> => {
    await store.putMany(Array.from({ length: count }, () => ({ tags: [tag] })))
  }
  const count = async (...tags: readonly string[]): Promise<object> => {
    const { estimatedRows, isAtLeast } = await store.explain(byTag, { tags: { in: tags } }, { scatter: true })
    return { estimatedRows, isAtLeast }
  }
  await put('a', 600)
  await put('b', 400)
  expect(await count('a', 'b')).toEqual({ estimatedRows: 1000, isAtLeast: false })
  await put('b', 1)
  operations = []
  rowLimits = 0
  expect(await count('a', 'b', 'c', 'd')).toEqual({ estimatedRows: 1000, isAtLeast: true })
  // Each range is asked for its share, and ranges with more for twice as many. 1,001 of each on three shards would be 12,012.
  expect(operations.length).toBeGreaterThan(SHARDS)
  expect(rowLimits).toBeLessThan(5_100)
})

it('explain tells which rows come with their entities', async () => {
  const spread = await store.explain(byTag, { tags: 'x' }, { scatter: true })
  expect(spread).toMatchObject({ localShare: undefined, joinsEntities: false })
  const shard = names.indexOf(shardOf('ada'))
  const idOn = (wanted: boolean): string => {
    for (;;) {
      const id = store.newId()
      if ((store.context.router.shardOfId(parseId(id)) === shard) === wanted) return id
    }
  }
  for (let n = 0; n < 10; n++) await store.put({ user: 'ada', n, tags: ['x'] }, { id: idOn(n !== 0) })
  const ofAda = { user: 'ada' }
  expect(await store.explain(byUser, ofAda)).toMatchObject({ localShare: 0.9, joinsEntities: true })
  expect(await store.explain(byUser, { ...ofAda, n: { lt: 2 } })).toMatchObject({
    localShare: 0.5,
    joinsEntities: false,
  })
  expect(await store.explain(byUser, ofAda, { limit: 511 })).toMatchObject({ joinsEntities: true })
  expect(await store.explain(byUser, ofAda, { limit: 512 })).toMatchObject({ joinsEntities: false })
  // A page would read entities of three shards for nothing but one.
  expect(await store.explain(byTag, { tags: 'x' }, { scatter: true })).toMatchObject({
    localShare: 1,
    joinsEntities: false,
  })
})

it('explain throws the errors of the query', async () => {
  await expect(store.explain(byTag, { tags: 'x' })).rejects.toMatchObject({ code: 'BAD_QUERY' })
  await expect(store.explain(byUser, { n: 5 } as never)).rejects.toThrow(
    /An index with properties { n: 'integer' }/,
  )
  await expect(store.explain(byUser, { user: 'a' }, { cursor: '' } as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  await expect(store.explain('by_user' as never, { user: 'a' })).rejects.toMatchObject({ code: 'BAD_INDEX' })
  await store.hideIndex(byUser)
  await expect(store.explain(byUser, { user: 'a' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
  const other = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })
  await expect(store.explain(other, { user: 'a' })).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
})

it('explain ends with its signal', async () => {
  const signal = AbortSignal.abort()
  await expect(store.explain(byUser, { user: 'a' }, { signal })).rejects.toMatchObject({ code: 'ABORTED' })
})
