import type { Bag, Driver, EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { unchanged } from '../../unchanged.ts'
import type { BatchItem, BatchUpdate } from './batch-item.ts'
import { MAX_ITEMS } from './take-items.ts'

const byTag = defineIndex('by_tag', { properties: { tag: 'string' }, shardOn: 'tag' })

let memory: Driver
let calls: string[]
/** Runs once, before the next commit of a batch. */
let beforeCommit: (() => Promise<void>) | undefined
let store: DataStore
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  calls = []
  beforeCommit = undefined
  const driver = faultyDriver(memory, ({ table, operation }) => {
    calls.push(`${table} ${operation}`)
    if (operation !== 'writeAll' || beforeCommit === undefined) return undefined
    const before = beforeCommit
    beforeCommit = undefined
    return { before }
  })
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byTag], migrate: true })
  a = (await store.insert({ cents: 100, tag: 'old' })).id
  b = store.newId({ near: a })
  await store.insert({ cents: 50 }, { id: b })
  calls = []
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

function pay(of: EntityId, cents: number): BatchUpdate {
  return { update: of, edit: (bag: Bag) => ({ ...bag, cents: Number(bag['cents']) + cents }) }
}

async function centsOf(...ids: readonly EntityId[]): Promise<unknown[]> {
  return (await store.getMany(ids)).map((entity) => entity?.['cents'])
}

const countOf = (call: string): number => calls.filter((each) => each === call).length

/** An id in another bucket than `a`. */
function farId(): EntityId {
  return store.newId()
}

test('a batch inserts, puts, updates and deletes in one transaction, and returns the result of each', async () => {
  const [c, d] = [store.newId({ near: a }), store.newId({ near: a })]
  const [inserted, put, updated, deleted, missing, checked] = await store.batch([
    { insert: { tag: 'new' } },
    { put: { n: 2 }, id: c },
    pay(a, 7),
    { delete: b },
    { delete: d },
    { check: store.newId({ near: a }), ifVersion: 0 },
  ])
  expect(inserted).toMatchObject({ created: true, indexed: true, version: updated.version })
  expect(put).toMatchObject({ id: c, created: true, version: updated.version })
  expect(updated).toMatchObject({ id: a, created: false })
  expect([deleted, missing, checked]).toEqual([true, false, undefined])
  expect(countOf('entities writeAll')).toBe(1)
  expect(countOf('entities insert') + countOf('entities replace')).toBe(0)
  expect(await centsOf(a, b)).toEqual([107, undefined])
  expect(await store.get(inserted.id)).toEqual({ id: inserted.id, tag: 'new' })
  expect((await store.query(byTag, { tag: 'new' })).items).toEqual([{ id: inserted.id, tag: 'new' }])
})

test('an id that a batch makes is in the bucket of its other items, or of near', async () => {
  const [made] = await store.batch([{ insert: { n: 1 } }, pay(a, 1)])
  const [alone, other] = await store.batch([{ insert: { n: 1 } }, { put: { n: 2 } }], { near: a })
  // An id in another bucket would be FAR_APART.
  await store.batch([made, alone, other].map(({ id }) => ({ delete: id })))
  expect(await store.getMany([made.id, alone.id, other.id])).toEqual([undefined, undefined, undefined])
})

test('the results of a batch of no items are empty', async () => {
  expect(await store.batch([])).toEqual([])
  expect(calls).toEqual([])
})

describe('a batch with an item that fails writes nothing, and its error has the place of the item', () => {
  test.each<[string, string, (tools: { readonly version: number }) => BatchItem]>([
    ['an insert of an entity that exists', 'ALREADY_EXISTS', () => ({ insert: { n: 1 }, id: b })],
    ['an update of a missing entity', 'NOT_FOUND', () => pay(store.newId({ near: a }), 1)],
    [
      'an update of another version',
      'VERSION_MISMATCH',
      ({ version }) => ({ ...pay(b, 1), ifVersion: version + 1 }),
    ],
    ['a put of another version', 'VERSION_MISMATCH', () => ({ put: { n: 1 }, id: b, ifVersion: 0 })],
    ['a delete of another version', 'VERSION_MISMATCH', () => ({ delete: b, ifVersion: 1 })],
    ['a check of another version', 'VERSION_MISMATCH', () => ({ check: b, ifVersion: 1 })],
    ['a check that there is none', 'VERSION_MISMATCH', () => ({ check: b, ifVersion: 0 })],
    ['an index value that does not fit', 'BAD_INDEX_VALUE', () => ({ put: { tag: 5 }, id: b })],
    ['a bag that cannot be stored', 'BAD_PROPERTY', () => ({ put: { f: (() => {}) as never }, id: b })],
    ['an edit that returns nothing', 'BAD_OPTION', () => ({ update: b, edit: (() => {}) as never })],
    ['an id that is none', 'BAD_ID', () => ({ delete: 'x' as EntityId })],
    ['an entity of another bucket', 'FAR_APART', () => ({ delete: farId() })],
    ['an entity that is in the batch already', 'BAD_OPTION', () => ({ delete: a })],
  ])('%s', async (_, code, failing) => {
    const { version } = await store.put({ cents: 50 }, { id: b })
    const tombstone = store.newId({ near: a })
    const batch = store.batch([
      pay(a, 7),
      failing({ version }),
      { insert: { tag: 'new' } },
      { delete: tombstone },
    ])
    await expect(batch).rejects.toMatchObject({ code, item: 1, unknownOutcome: false })
    await expect(batch).rejects.toThrow(/^The batch was not written because of items\[1\]/)
    expect(await centsOf(a, b)).toEqual([100, 50])
    expect((await store.query(byTag, { tag: 'new' })).items).toEqual([])
    expect(countOf('entities writeAll')).toBe(0)
  })

  test('the error of an edit rejects the batch as it is', async () => {
    const poor = new Error('not enough')
    const edit = (): never => {
      throw poor
    }
    await expect(store.batch([pay(a, 7), { update: b, edit }])).rejects.toBe(poor)
    expect(await centsOf(a)).toEqual([100])
  })
})

describe('a batch is refused before anything is sent', () => {
  test.each<[string, () => unknown]>([
    ['no array', () => ({ insert: {} })],
    [`more than ${MAX_ITEMS} items`, () => Array.from({ length: MAX_ITEMS + 1 }, () => ({ insert: {} }))],
    ['an item without a name', () => [{ bag: {} }]],
    ['an item with two names', () => [{ insert: {}, put: {} }]],
    ['an item with an unknown option', () => [{ insert: {}, ifVersion: 1 }]],
    ['a version that is undefined by mistake', () => [{ ...pay(a, 1), ifVersion: undefined }]],
    ['a check without a version', () => [{ check: a }]],
    ['an update without an edit', () => [{ update: a }]],
    ['a hole', () => [pay(a, 1), ...Array<BatchItem>(1)]],
  ])('%s is BAD_OPTION', async (_, items) => {
    await expect(store.batch(items() as readonly BatchItem[])).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(calls).toEqual([])
  })

  test('FAR_APART names the entity, the bucket and the remedy', async () => {
    const far = farId()
    await expect(store.batch([pay(a, 1), { delete: far }])).rejects.toThrow(
      new RegExp(`Entity ${far} is not in the bucket of ${a}.*newId\\(\\{ near \\}\\)`),
    )
    await expect(store.batch([pay(a, 1)], { near: far })).rejects.toMatchObject({
      code: 'FAR_APART',
      item: 0,
    })
    expect(calls).toEqual([])
  })

  test('bags are copied when the batch begins', async () => {
    const bag = { n: 1 }
    const batch = store.batch([{ put: bag, id: b }])
    bag.n = 2
    await batch
    expect(await store.get(b)).toEqual({ id: b, n: 1 })
  })
})

describe('an item that writes nothing', () => {
  test('an item that writes nothing keeps the version of its entity', async () => {
    const { version } = await store.put({ cents: 50 }, { id: b })
    const [, kept] = await store.batch([pay(a, 1), { update: b, edit: () => unchanged }])
    expect(kept).toMatchObject({ version, created: false, indexed: true })
    await store.batch([pay(a, 1), { check: b, ifVersion: version }])
    expect(await store.put({ cents: 51 }, { id: b, ifVersion: version })).toMatchObject({ created: false })
  })

  test('a write between the read and the commit of a checked entity ends the batch', async () => {
    const { version } = await store.put({ cents: 50 }, { id: b })
    beforeCommit = async () => void (await store.put({ cents: 60 }, { id: b }))
    await expect(store.batch([pay(a, 1), { check: b, ifVersion: version }])).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      item: 1,
    })
    expect(await centsOf(a, b)).toEqual([100, 60])
  })

  test('an entity that was found missing is not inserted before the commit', async () => {
    const c = store.newId({ near: a })
    beforeCommit = async () => void (await store.insert({ cents: 1 }, { id: c }))
    const [, deleted] = await store.batch([pay(a, 1), { delete: c }])
    expect(deleted).toBe(true)
    expect(await centsOf(a, c)).toEqual([101, undefined])
  })
})

test('concurrent batches of the same accounts never lose a payment', async () => {
  const c = store.newId({ near: a })
  await store.insert({ cents: 0 }, { id: c })
  const ids = [a, b, c]
  await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      store.batch([pay(ids[i % 3]!, -1), pay(ids[(i + 1 + (i % 2)) % 3]!, 1)]),
    ),
  )
  const cents = (await centsOf(...ids)) as number[]
  expect(cents.reduce((sum, each) => sum + each, 0)).toBe(150)
})

test('a batch beside a single update keeps both changes', async () => {
  await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      i % 2 === 0
        ? store.batch([pay(a, 1), pay(b, 1)])
        : store.update(a, (bag) => ({ ...bag, cents: Number(bag['cents']) + 10 })),
    ),
  )
  expect(await centsOf(a, b)).toEqual([155, 55])
})

test('an entity that a batch deletes loses its index rows', async () => {
  await store.batch([{ delete: a }, pay(b, 1)])
  await store.settled()
  expect((await store.query(byTag, { tag: 'old' })).items).toEqual([])
  const { indexes } = await store.status()
  const tables = await Promise.all(
    memory.shards.map(({ index }) =>
      index({ table: indexes[0]!.table, columns: [{ name: 'tag', type: 'string' }] }).scan({
        prefix: [],
        order: 'asc',
        limit: 10,
      }),
    ),
  )
  expect(tables.flat()).toEqual([])
})

test('the changes of a batch come one after the other, with one version and one time', async () => {
  const results = await store.batch([pay(a, 1), pay(b, 1), { insert: { n: 1 } }, { insert: { n: 2 } }])
  const changes = []
  for await (const change of store.changes({ from: 'beginning' })) {
    changes.push(change)
    if (changes.length === 4) break
  }
  expect(changes.map(({ id }) => id).toSorted()).toEqual(results.map(({ id }) => id).toSorted())
  expect(new Set(changes.map(({ version }) => version)).size).toBe(1)
  expect(new Set(changes.map(({ updated }) => updated.getTime())).size).toBe(1)
})
