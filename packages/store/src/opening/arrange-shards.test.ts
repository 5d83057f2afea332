import { LooseleafError, parseId, type Driver, type DriverFactory, type Router } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketRouter, evenBuckets, moduloRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const NAMES = Array.from({ length: 24 }, (_, i) => `name ${i}`)

let memory: Driver
let opened: DataStore[]

beforeEach(async () => {
  memory = await memoryShards(3).connect()
  opened = []
})
afterEach(async () => {
  for (const store of opened) await store.close()
  await memory.close()
})

/** Returns the shards with these numbers, in this order. */
const listed = (...numbers: number[]): DriverFactory =>
  keepOpen({ ...memory, shards: numbers.map((number) => memory.shards[number]!) })

interface Opening {
  readonly migrate?: boolean
  readonly router?: Router
  readonly onWarning?: (message: string) => void
}

async function open(shards: DriverFactory, options: Opening = { migrate: true }): Promise<DataStore> {
  const store = await DataStore.open({ shards, indexes: [byName], ...options })
  opened.push(store)
  return store
}

const catalogs = (): Promise<ShardCatalog[]> =>
  Promise.all(memory.shards.map(async ({ catalog }) => (await catalog.load())!))

/** Removes the layout, as in a store that was made before there were layouts. */
async function removeLayouts(): Promise<void> {
  for (const { catalog } of memory.shards) {
    const current = (await catalog.load())!
    await catalog.change({ ...current, layout: undefined }, current.epoch)
  }
}

async function putNames(store: DataStore): Promise<Map<string, string>> {
  const results = await store.putMany(NAMES.map((name) => ({ name })))
  return new Map(results.map(({ id }, i) => [NAMES[i]!, id]))
}

/** Checks that a store finds each entity by its id and by the index, and none twice. */
async function expectAll(store: DataStore, ids: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, id] of ids) {
    expect(await store.get(id)).toMatchObject({ name })
    expect((await store.query(byName, { name })).items.map((item) => item.id)).toEqual([id])
  }
}

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => 'it was taken',
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ code: 'LAYOUT_MISMATCH' })
  return (error as LooseleafError).message
}

describe('the order of the list of shards', () => {
  test.each([[[0, 1, 2]], [[1, 0, 2]], [[2, 1, 0]], [[1, 2, 0]]])(
    'a store given its shards in the order %j finds and writes the same entities',
    async (order) => {
      const ids = await putNames(await open(listed(0, 1, 2)))
      for (const migrate of [false, true]) {
        const store = await open(listed(...order), { migrate })
        await expectAll(store, ids)
        await store.update(ids.get(NAMES[0]!)!, (bag) => ({ ...bag, seen: order.length }))
      }
      await expectAll(await open(listed(0, 1, 2)), ids)
    },
  )

  test('a store that was made before there were layouts takes its shards in any order', async () => {
    const ids = await putNames(await open(listed(0, 1, 2)))
    await removeLayouts()
    await expectAll(await open(listed(2, 0, 1), { migrate: false }), ids)
    expect((await catalogs()).map(({ layout }) => layout)).toEqual([undefined, undefined, undefined])
  })

  test('a silent shard gets the number of its name, wherever it stands in the list', async () => {
    const ids = await putNames(await open(listed(0, 1, 2)))
    const down = new Set(['memory 0', 'memory 2'])
    const shards = [2, 1, 0].map((number) => memory.shards[number]!)
    const faulty = faultyDriver({ ...memory, shards }, ({ shard }) =>
      down.has(shards[shard]!.name)
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    )
    const store = await open(keepOpen(faulty), { onWarning: () => undefined })
    down.clear()
    await expectAll(store, ids)
  })

  test('a silent shard without a known name is refused when it turns out to have another number', async () => {
    const ids = await putNames(await open(listed(0, 1, 2)))
    await removeLayouts()
    let areDown = true
    const shards = [2, 1, 0].map((number) => memory.shards[number]!)
    const faulty = faultyDriver({ ...memory, shards }, ({ shard }) =>
      areDown && shard !== 1
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    )
    const store = await open(keepOpen(faulty), { onWarning: () => undefined })
    areDown = false
    const placed = [...ids.values()].map((id) => [
      id,
      store.context.catalog.current().placement.shardOfId(parseId(id)),
    ])
    for (const [id, shard] of placed as [string, number][]) {
      if (shard === 1) expect(await store.get(id)).toBeDefined()
      else
        await expect(store.get(id)).rejects.toMatchObject({
          code: 'LAYOUT_MISMATCH',
          message: expect.stringMatching(
            /was taken for shard \d while it did not answer. Open the store again/,
          ),
        })
    }
  })
})

describe('a list that does not fit the store', () => {
  beforeEach(async () => {
    await putNames(await open(listed(0, 1, 2)))
  })

  test.each([true, false])('a missing shard is named (migrate: %j)', async (migrate) => {
    expect(await refusal(open(listed(2, 0), { migrate }))).toMatch(
      /^Shard memory 2: its store has 3 shards, but the list has 2\. Missing: shard 1 \(memory 1 when it joined\)\./,
    )
  })

  test('all missing shards are named', async () => {
    expect(await refusal(open(listed(1)))).toMatch(
      /Missing: shards 0 \(memory 0 when it joined\), 2 \(memory 2 when it joined\)\. Give all of its shards/,
    )
  })

  test.each([true, false])('a database that is given twice is named (migrate: %j)', async (migrate) => {
    expect(await refusal(open(listed(0, 1, 1), { migrate }))).toMatch(
      /^Shard memory 1: it is shard 1 of its store, and so is memory 1\. Give the database of every shard once/,
    )
  })

  test.each([true, false])('an additional empty database is named (migrate: %j)', async (migrate) => {
    const other = await memoryShards(4).connect()
    const shards = [other.shards[3]!, ...memory.shards]
    expect(await refusal(open(keepOpen({ ...memory, shards }), { migrate }))).toMatch(
      /^Shard memory 3: the store has 3 shards, but the list has 4, and it is empty\. Give shards of the store only\. To make it one of them, run `looseleaf shard add`/,
    )
    expect(await other.shards[3]!.catalog.load()).toBeUndefined()
    await other.close()
  })

  test.each([0, 1, 2])('a shard of another store in the place of shard %i is named', async (number) => {
    const other = await memoryShards(3).connect()
    await open(keepOpen(other))
    const shards = memory.shards.with(number, other.shards[number]!)
    const before = await catalogs()
    expect(await refusal(open(keepOpen({ ...memory, shards })))).toMatch(
      new RegExp(`^Shard memory ${number}: it belongs to another store \\(.*\\) than the other shards`),
    )
    expect(await catalogs()).toEqual(before)
    await other.close()
  })
})

test('a new store is refused a database that is given twice, and is finished by the right list', async () => {
  expect(await refusal(open(listed(0, 0, 1)))).toMatch(
    /^Shard memory 0: it is shard 0 of the store by now, and was given as shard 1 of a new one\. Give the database/,
  )
  const store = await open(listed(0, 1, 2))
  expect((await catalogs()).map(({ shardNumber }) => shardNumber).toSorted()).toEqual([0, 1, 2])
  const { id } = await store.put({ name: 'any' })
  expect(await (await open(listed(1, 2, 0))).get(id)).toMatchObject({ name: 'any' })
})

describe('the layout in the catalog', () => {
  test('a new store has the map of its router, the names of its shards, and requires nothing', async () => {
    await open(listed(0, 1, 2))
    const layout = {
      revision: 0,
      scheme: 'buckets-1',
      shards: [
        { name: 'memory 0', buckets: '0-1365' },
        { name: 'memory 1', buckets: '1366-2730' },
        { name: 'memory 2', buckets: '2731-4095' },
      ],
    }
    for (const catalog of await catalogs()) {
      expect(catalog).toMatchObject({ layout, router: bucketRouter({ shards: 3 }).fingerprint })
      expect(catalog.requires).toBeUndefined()
    }
  })

  test('the layout of a store decides, not the map of the router that a process brings', async () => {
    const ids = await putNames(await open(listed(0, 1, 2)))
    const reversed = bucketRouter({ shards: 3, buckets: evenBuckets(3).toReversed() })
    await expectAll(await open(listed(0, 1, 2), { router: reversed }), ids)
  })

  test('a store that was made before there were layouts gets its own by migrate, and moves nothing', async () => {
    const buckets = (bucket: number): number => (bucket * 7) % 3
    const router = bucketRouter({ shards: 3, buckets })
    const ids = await putNames(await open(listed(0, 1, 2), { migrate: true, router }))
    const made = await catalogs()
    await removeLayouts()
    const older = await open(listed(0, 1, 2), { router })
    // The process of `older` has no layout in its copy of the catalog, like one that does not know layouts.
    await removeLayouts()
    await older.context.catalog.reload()
    await expectAll(await open(listed(2, 1, 0), { migrate: true, router }), ids)
    const after = await catalogs()
    expect(after.map(({ layout }) => layout)).toEqual(made.map(({ layout }) => layout))
    expect(after.map(({ requires }) => requires)).toEqual([undefined, undefined, undefined])
    await expectAll(older, ids)
    const { id } = await older.put({ name: 'later' })
    expect(await (await open(listed(1, 2, 0))).get(id)).toMatchObject({ name: 'later' })
  })

  test('a store without a layout refuses a router with another map', async () => {
    await open(listed(0, 1, 2))
    await removeLayouts()
    const reversed = bucketRouter({ shards: 3, buckets: evenBuckets(3).toReversed() })
    expect(await refusal(open(listed(0, 1, 2), { router: reversed }))).toContain(
      `its store was made with the router ${bucketRouter({ shards: 3 }).fingerprint}, but the router given is`,
    )
  })

  test('a router without buckets keeps its own assignment, and its shards may have any order', async () => {
    const router = moduloRouter({ shards: 3 })
    const ids = await putNames(await open(listed(0, 1, 2), { migrate: true, router }))
    expect((await catalogs())[0]!.layout).toEqual({
      revision: 0,
      shards: [{ name: 'memory 0' }, { name: 'memory 1' }, { name: 'memory 2' }],
    })
    await expectAll(await open(listed(2, 0, 1), { router }), ids)
    expect(await refusal(open(listed(0, 1, 2), {}))).toContain(
      'the router modulo-1 shards=3, but the router given is',
    )
  })

  test('a router that wraps another one and assigns keys itself keeps its own assignment', async () => {
    const inner = bucketRouter({ shards: 2 })
    const router: Router = {
      ...inner,
      shardCount: 3,
      fingerprint: `apart-1 ${inner.fingerprint}`,
      shardOfKey: () => 2,
    }
    const store = await open(listed(0, 1, 2), { migrate: true, router })
    const ids = await putNames(store)
    expect((await catalogs())[0]!.layout?.scheme).toBeUndefined()
    expect(store.context.catalog.current().placement.rows.readOfKey(Buffer.from('any'))).toBe(2)
    await expectAll(await open(listed(2, 1, 0), { router }), ids)
  })

  test('a router for another number of shards makes no store, and opens none whose layout is fixed', async () => {
    const router = bucketRouter({ shards: 2 })
    const expected = {
      code: 'BAD_OPTION',
      message: 'The router routes to 2 shards, but the store has 3. Give a router for 3 shards.',
    }
    await expect(open(listed(0, 1, 2), { migrate: true, router })).rejects.toMatchObject(expected)
    expect(await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    const fixed: Router = { ...bucketRouter({ shards: 3 }), fingerprint: 'own-1' }
    await open(listed(0, 1, 2), { migrate: true, router: fixed })
    const other: Router = { ...router, fingerprint: 'own-1' }
    await expect(open(listed(0, 1, 2), { router: other })).rejects.toMatchObject(expected)
  })

  test('a router that assigns keys otherwise than its buckets needs a fingerprint of its own', async () => {
    const router: Router = { ...bucketRouter({ shards: 3 }), shardOfKey: () => 2 }
    await expect(open(listed(0, 1, 2), { migrate: true, router })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('but its fingerprint begins with their scheme, buckets-1.'),
    })
  })

  test('a router with a bucket on a shard that the store does not have is refused, and nothing is written', async () => {
    const inner = bucketRouter({ shards: 3 })
    const router: Router = {
      ...inner,
      buckets: { ...inner.buckets!, shards: inner.buckets!.shards.with(9, 3) },
    }
    await expect(open(listed(0, 1, 2), { migrate: true, router })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: 'Bucket 9 of the router has to be on a shard from 0 to 2; got 3.',
    })
    expect(await Promise.all(memory.shards.map(({ catalog }) => catalog.load()))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test.each([
    ['a bucket is on no shard', '1-1365', 'bucket 0 is on no shard'],
    ['a bucket is on two shards', '0-1366', 'bucket 1366 is on the shards 0 and 1'],
    [
      'a range is no range',
      '0-1365,x',
      'shard 0 has the buckets "0-1365,x", which are no ascending ranges below 4096',
    ],
    [
      'a range ends beyond the last bucket',
      '0-1365,4096',
      'shard 0 has the buckets "0-1365,4096", which are no ascending ranges below 4096',
    ],
  ])('a layout in which %s is CATALOG_DAMAGED', async (_, buckets, flaw) => {
    await open(listed(0, 1, 2))
    for (const { catalog } of memory.shards) {
      const current = (await catalog.load())!
      const layout = current.layout!
      const shards = layout.shards.with(0, { name: 'memory 0', buckets })
      await catalog.change({ ...current, layout: { ...layout, shards } }, current.epoch)
    }
    await expect(open(listed(0, 1, 2))).rejects.toMatchObject({
      code: 'CATALOG_DAMAGED',
      message: expect.stringContaining(flaw),
    })
  })
})
