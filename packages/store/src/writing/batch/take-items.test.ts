import { formatId, parseId, type Bag, type EntityId, type Router } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketOfId, moduloRouter } from '@looseleaf/router'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { BatchItem, BatchWrite, PreparedWrite } from './batch-item.ts'
import { prepared } from './batch-item.ts'
import { MAX_ITEMS, takeItems, type TakenItem } from './take-items.ts'

let store: DataStore
let a: EntityId
let near: (id?: EntityId) => EntityId

beforeEach(() => open())
afterEach(() => store.close())

async function open(router?: Router): Promise<void> {
  store = await DataStore.open({ shards: memoryShards(2), migrate: true, router })
  a = store.newId()
  near = (id = a) => store.newId({ near: id })
}

const edit = (bag: Bag): Bag => bag
const take = (items: readonly unknown[], place?: EntityId): readonly TakenItem[] =>
  takeItems(store.context, items as readonly BatchItem[], place)
const bucketsOf = (items: readonly TakenItem[]): ReadonlySet<number> =>
  new Set(items.map(({ id }) => bucketOfId(id)))

function write(parts: Partial<PreparedWrite<unknown>>): BatchWrite<unknown> {
  return {
    [prepared]: {
      name: 'save',
      id: undefined,
      near: undefined,
      ifVersion: undefined,
      addsUp: false,
      ready: () => undefined,
      begin: () => ({ edit: () => null, resultOf: () => 'saved' }),
      removesObstacle: async () => false,
      ...parts,
    },
  }
}

test('items have the names of their calls, and tell whether their ids are fresh and their edits add up', () => {
  const items = take([
    { insert: { n: 1 } },
    { insert: { n: 1, id: near() } },
    { put: {} },
    { put: { id: near() }, id: a },
    { update: near(), edit },
    { update: near(), edit, ifVersion: 7 },
    { delete: near() },
    { check: near(), ifVersion: 0 },
    write({}),
    write({ name: 'move', id: near(), addsUp: true }),
  ])
  expect(items.map(({ name, isFresh, addsUp }) => [name, isFresh, addsUp])).toEqual([
    ['insert', true, false],
    ['insert', false, false],
    ['put', true, false],
    ['put', false, false],
    ['update', false, true],
    ['update', false, false],
    ['delete', false, false],
    ['check', false, false],
    ['save', true, false],
    ['move', false, true],
  ])
  // The id of an option overrides the one in the bag.
  expect(formatId(items[3]!.id)).toBe(a)
  expect(bucketsOf(items)).toEqual(new Set([bucketOfId(parseId(a))]))
})

test('fresh ids are in the bucket of the option near, of the first item with an id, or of one with a place', () => {
  const key = { string: 'acme' } as const
  const byKey = bucketOfId(parseId(store.newId({ near: key })))
  expect(bucketsOf(take([{ put: {} }, { put: {} }], a))).toEqual(new Set([bucketOfId(parseId(a))]))
  expect(bucketsOf(take([{ put: {} }, { delete: a }]))).toEqual(new Set([bucketOfId(parseId(a))]))
  expect(bucketsOf(take([{ put: {} }, write({ near: key })]))).toEqual(new Set([byKey]))
  expect(bucketsOf(take([write({ near: key }), write({ near: key })]))).toEqual(new Set([byKey]))
  expect(bucketsOf(take([{ put: {} }, { put: {} }])).size).toBe(1)
})

test('a prepared write with a place in another bucket is FAR_APART', () => {
  let far = store.newId()
  while (bucketOfId(parseId(far)) === bucketOfId(parseId(a))) far = store.newId()
  expect(() => take([{ delete: a }, write({ near: far })])).toThrow(
    expect.objectContaining({ code: 'FAR_APART', item: 1 }),
  )
  expect(() => take([write({ near: far })], a)).toThrow(
    expect.objectContaining({ code: 'FAR_APART', item: 0 }),
  )
})

test('entities of a router without buckets are in one batch if they are on one shard', async () => {
  await store.close()
  await open(moduloRouter({ shards: 2 }))
  const shardOf = (id: EntityId): number => store.context.catalog.current().placement.shardOfId(parseId(id))
  let [same, far] = [store.newId(), store.newId()]
  while (shardOf(same) !== shardOf(a)) same = store.newId()
  while (shardOf(far) === shardOf(a)) far = store.newId()
  expect(take([{ delete: a }, { delete: same }])).toHaveLength(2)
  expect(() => take([{ delete: a }, { delete: far }])).toThrow(
    expect.objectContaining({ code: 'FAR_APART', entity: far, item: 1 }),
  )
})

test(`a batch takes up to ${MAX_ITEMS} items`, () => {
  const items = Array.from({ length: MAX_ITEMS }, () => ({ put: {} }))
  expect(take(items)).toHaveLength(MAX_ITEMS)
  expect(() => take([...items, { put: {} }])).toThrow(/^batch takes up to 100 items; got an array/)
})

const of = 'The batch was not written because of items[0]: '
const NAMES = 'insert, put, update, delete, check'

test.each<[unknown, string]>([
  [{ upsert: {} }, `${of}batch takes items with one of ${NAMES}; got an object with upsert.`],
  [{ put: {}, insert: {} }, `${of}batch takes items with one of ${NAMES}; got an object with put, insert.`],
  [
    { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9 },
    `${of}batch takes items with one of ${NAMES}; got an object with a, b, c, d, e, f, g, h.`,
  ],
  [{}, `${of}batch takes items with one of ${NAMES}; got an object.`],
  [[{ put: {} }], `${of}batch takes items with one of ${NAMES}; got an array of 1 element.`],
  [undefined, `${of}batch takes items with one of ${NAMES}; got nothing.`],
  [
    { insert: {}, ifVersion: 1 },
    `${of}an item insert of batch has no option "ifVersion"; there are insert, id.`,
  ],
  [{ put: {}, edit }, `${of}an item put of batch has no option "edit"; there are put, id, ifVersion.`],
  [
    { update: 'x', put: undefined },
    `${of}batch takes items with one of ${NAMES}; got an object with update, put.`,
  ],
  [{ delete: 'x', id: 1 }, `${of}an item delete of batch has no option "id"; there are delete, ifVersion.`],
])('the item %j is refused with its place', (item, message) => {
  expect(() => take([item])).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message, item: 0 }))
})

test('an update without an edit, a check without a version and an array that is none are refused', () => {
  expect(() => take([{ update: a }])).toThrow(/batch takes as edit a function from bag to bag; got nothing\./)
  expect(() => take([{ check: a }])).toThrow(/batch takes a check with ifVersion; got nothing\./)
  expect(() => take({ length: 0 } as never)).toThrow(/^batch takes an array of items; got an object\./)
})

test('an entity that repeats is refused with both places', () => {
  expect(() => take([{ delete: a }, { put: {} }, { update: a, edit }])).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      entity: a,
      item: 2,
      message: `The batch was not written because of items[2] (update): Entity ${a} is items[0] already.`,
    }),
  )
})
