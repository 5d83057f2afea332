import type { DriverFactory, Time } from '@looseleaf/core'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byUser = defineIndex('entries', { properties: { user: 'string' }, shardOn: 'user' })
const byUserAndTime = defineIndex('entries', {
  properties: { user: 'string', time: { type: 'time', order: 'desc' } },
  shardOn: 'user',
})

let driver: ReferenceDriver
let now: number
let warnings: string[]
beforeEach(() => {
  warnings = []
  now = 1_800_000_000_000
  driver = createReferenceDriver({ shards: 2, now: () => now * 1000 })
})

const time: Time = {
  now: () => now,
  async sleep(milliseconds) {
    now += milliseconds
    await new Promise((resolve) => setImmediate(resolve))
  },
}

function open(indexes: readonly IndexDefinition[]): Promise<DataStore> {
  const shards: DriverFactory = { shardCount: 2, connect: async () => driver }
  return DataStore.open({ shards, indexes, migrate: true, time, onWarning: (text) => warnings.push(text) })
}

/** Opens a store with the old definition and puts entities, then opens it with the new definition. */
async function deploy(before: IndexDefinition, after: IndexDefinition): Promise<DataStore> {
  const old = await open([before])
  await old.put({ user: 'ada', n: 1, time: new Date(1), tags: ['a', 'b'] })
  await old.put({ user: 'ada', n: 2, time: new Date(2), tags: ['b'] })
  await old.put({ user: 'ada', n: 3 })
  await old.put({ user: 'bob', n: 4, time: new Date(4) })
  return open([after])
}

const numbers = (items: readonly object[]): unknown[] => items.map((item) => (item as { n: unknown }).n)
const notReady = expect.objectContaining({ code: 'INDEX_NOT_READY' })

async function makeReady(): Promise<void> {
  await changeCatalog(driver, (indexes) =>
    indexes.map((entry) => (entry.state === 'building' ? { ...entry, state: 'ready' } : entry)),
  )
}

test('an older generation serves queries until the newer one is ready, without entities that the newer one leaves out', async () => {
  const store = await deploy(byUser, byUserAndTime)
  const page = await store.query(byUserAndTime, { user: 'ada' })
  expect(numbers(page.items).toSorted()).toEqual([1, 2])
  expect(page.cost).toMatchObject({ olderGeneration: 1, complete: true })
  expect(numbers(await store.getAll(byUserAndTime, { user: 'ada' })).toSorted()).toEqual([1, 2])
  expect(await store.count(byUserAndTime, { user: 'ada' })).toBe(2)
  expect(await store.countMany(byUserAndTime, [{ user: 'ada' }, { user: 'bob' }])).toEqual([2, 1])
  const many = await store.queryMany(byUserAndTime, [{ user: 'ada' }, { user: 'bob' }])
  expect(many.map(({ items }) => items.length)).toEqual([2, 1])
  expect(await store.explain(byUserAndTime, { user: 'ada' })).toMatchObject({ generation: 1 })
  expect(warnings).toEqual([expect.stringMatching(/^Index entries .* generation 1 answers its queries/)])
})

test('a building index is looked up once a second while another generation stands in', async () => {
  const store = await deploy(byUser, byUserAndTime)
  await store.query(byUserAndTime, { user: 'ada' })
  await makeReady()
  const soon = await store.query(byUserAndTime, { user: 'ada' })
  expect(soon.cost.olderGeneration).toBe(1)
  now += 1_001
  // The newer generation has no rows: no cleaner has filled it.
  const later = await store.query(byUserAndTime, { user: 'ada' })
  expect(later).toMatchObject({ items: [], cost: { complete: true } })
  expect(later.cost.olderGeneration).toBeUndefined()
})

test('pages of an older generation follow its cursors to the end', async () => {
  const store = await deploy(byUser, byUserAndTime)
  const first = await store.query(byUserAndTime, { user: 'ada' }, { limit: 1 })
  const { cursor } = first
  const second = await store.query(byUserAndTime, { user: 'ada' }, { limit: 1, cursor: cursor! })
  expect(numbers([...first.items, ...second.items]).toSorted()).toEqual([1, 2])
  expect(second.cursor).toBeUndefined()
  await makeReady()
  now += 1_001
  await expect(store.query(byUserAndTime, { user: 'ada' }, { cursor: cursor! })).rejects.toMatchObject({
    code: 'BAD_CURSOR',
  })
})

test('a where that the older generation cannot serve is INDEX_NOT_READY, and an invalid one is BAD_QUERY', async () => {
  const store = await deploy(byUser, byUserAndTime)
  const later = { user: 'ada', time: { gt: new Date(1) } } as const
  await expect(store.query(byUserAndTime, later)).rejects.toEqual(notReady)
  await expect(store.query(byUserAndTime, { nobody: 1 } as never)).rejects.toMatchObject({
    code: 'BAD_QUERY',
  })
})

test('queryIds and intersections are INDEX_NOT_READY until the newer generation is ready', async () => {
  const store = await deploy(byUser, byUserAndTime)
  await expect(store.queryIds(byUserAndTime, { user: 'ada' })).rejects.toEqual(notReady)
  const condition = { index: byUserAndTime, where: { user: 'ada' } }
  await expect(store.intersect([condition, condition])).rejects.toEqual(notReady)
})

test('a list takes properties from bodies that the older generation does not include', async () => {
  const covering = { ...byUser, include: ['n'] } as typeof byUser
  const store = await deploy(byUser, covering)
  const page = await store.list(covering, { user: 'ada' })
  expect(numbers(page.items).toSorted()).toEqual([1, 2, 3])
  expect(page.items[0]).not.toHaveProperty('time')
  expect(page).toMatchObject({ verified: true, cost: { olderGeneration: 1, entitiesCovered: 0 } })
})

test('an index with another shardOn is read on the shards of the older generation', async () => {
  const elsewhere = { ...byUser, shardOn: 'id' } as typeof byUser
  const store = await deploy(byUser, elsewhere)
  const page = await store.query(elsewhere, { user: 'ada' }, { scatter: true })
  expect(numbers(page.items).toSorted()).toEqual([1, 2, 3])
})

const withNulls = (nulls?: 'first'): IndexDefinition =>
  defineIndex('entries', {
    properties: { user: 'string', time: nulls ? { type: 'time', nulls } : 'time' },
    shardOn: 'user',
  })
const of = (
  properties: Parameters<typeof defineIndex>[1]['properties'],
  on?: { user: string },
): IndexDefinition => defineIndex('entries', { properties, shardOn: 'id', ...(on && { on }) })

describe('an older generation', () => {
  test.each<[what: string, before: IndexDefinition, after: IndexDefinition]>([
    [
      'a property that the newer one has no more',
      of({ user: 'string', time: 'time' }),
      of({ user: 'string' }),
    ],
    ['entities without a value', withNulls(), withNulls('first')],
    ['values of another type', of({ n: 'integer' }), of({ n: 'number' })],
    [
      'values by another key function',
      of({ user: 'string' }),
      of({ user: { type: 'string', key: 'lower' } }),
    ],
    ['entities that a predicate leaves out', of({ n: 'integer' }, { user: 'ada' }), of({ n: 'integer' })],
  ])('an older generation that may lack %s does not serve queries', async (_, before, after) => {
    const store = await deploy(before, after)
    await expect(store.query(after, {}, { scatter: true })).rejects.toEqual(notReady)
  })

  test.each<[what: string, before: IndexDefinition, after: IndexDefinition, found: number[]]>([
    ['a newer one without nulls', withNulls('first'), withNulls(), [1, 2, 4]],
    ['a newer one with a predicate', of({ n: 'integer' }), of({ n: 'integer' }, { user: 'ada' }), [1, 2, 3]],
    ['an array', of({ tags: 'string[]' }), of({ tags: 'string[]', n: 'integer' }), [1, 2]],
  ])('an older generation serves %s, since it has every row', async (_, before, after, found) => {
    const store = await deploy(before, after)
    const { items } = await store.query(after, {}, { scatter: true })
    expect(numbers(items).toSorted()).toEqual(found)
  })

  test('a hidden older generation does not serve queries', async () => {
    const store = await deploy(byUser, byUserAndTime)
    expect((await store.query(byUserAndTime, { user: 'ada' })).cost.olderGeneration).toBe(1)
    await store.hideIndex(byUser)
    await expect(store.query(byUserAndTime, { user: 'ada' })).rejects.toEqual(notReady)
  })
})
