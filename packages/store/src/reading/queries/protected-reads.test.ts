import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseId, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import { MAX_SNAPSHOTS, type ExactStep, type Key } from '@looseleaf/core/internal'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, deriveEntryRows, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

// An entity moves to and fro within each range of a call, after each of its scans. Its old row is deleted at once, as by a writer of an
// exact index.

const byRank = defineIndex('by_rank', {
  properties: { list: 'string', rank: 'integer' },
  shardOn: 'id',
  include: ['title'],
})
const byTag = defineIndex('by_tag', { properties: { tag: 'string', rank: 'integer' }, shardOn: 'id' })

const LIST = 'a'
const SCATTER = { scatter: true } as const

let folder: string
let files: Driver
let writer: DataStore
let reader: DataStore
/** Moves the entity between two statements of a call. */
let move: (() => Promise<void>) | undefined
let sent: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-protected-'))
  files = await sqliteShards({ folder, durability: 'normal' }).connect()
  move = undefined
  sent = []
  const onWarning = (): void => undefined
  writer = await DataStore.open({
    shards: keepOpen(files),
    indexes: [byRank, byTag],
    migrate: true,
    onWarning,
  })
  reader = await DataStore.open({
    onWarning,
    shards: keepOpen(
      faultyDriver(files, ({ table, operation }) => {
        const isScan = /^(scan|count)/.test(operation) && table.startsWith('index_')
        if (isScan || operation === 'snapshot') sent.push(operation)
        return isScan ? { after: () => move?.() } : undefined
      }),
    ),
  })
})
afterEach(async () => {
  await reader.close()
  await writer.close()
  await files.close()
  await rm(folder, { recursive: true })
})

async function setExact(step: ExactStep | undefined): Promise<void> {
  await changeCatalogContents(files, ({ indexes, ...contents }) => ({
    ...contents,
    indexes: indexes.map(({ exact: _, ...entry }) =>
      step === undefined ? entry : { ...entry, exact: step },
    ),
  }))
  await writer.context.catalog.reload()
  await reader.context.catalog.reload()
}

/** Returns a function that gives the entity these bags in turn, and deletes the rows that each of them loses in the same moment. */
function mover(id: EntityId, bags: readonly Bag[]): () => Promise<void> {
  let turn = 0
  return async () => {
    const { shards } = files
    const { codec, catalog, clock } = writer.context
    const entityId = parseId(id)
    const before = bags[turn]!
    turn = (turn + 1) % bags.length
    const after = bags[turn]!
    const [base] = await shards[0]!.entities.readVersions([entityId])
    const version = clock.next(base!)
    const keysOf = (entry: (typeof indexes)[number], bag: Bag): readonly Key[] =>
      deriveEntryRows(entry, bag).keys
    const { indexes } = catalog.current()
    for (const entry of indexes) {
      const rows = keysOf(entry, after).map((key) => ({ key, entityId, version, included: codec.encode({}) }))
      await shards[0]!.index(tableSpec(entry)).upsert(rows)
    }
    const epoch = catalog.current().epochs[0]!
    const swap = { id: entityId, base: base!, version, body: codec.encode(after) }
    await shards[0]!.entities.replace([swap], { epoch })
    for (const entry of indexes) {
      const kept = keysOf(entry, after).map(String)
      const lost = keysOf(entry, before).filter((key) => !kept.includes(String(key)))
      const rows = lost.map((key) => ({ key, entityId, before: version }))
      await shards[0]!.index(tableSpec(entry)).remove(rows)
    }
  }
}

/** Writes rows that lead to no entity, with ranks from 1 on. */
async function writeLeftovers(count: number, list: string = LIST): Promise<void> {
  const entry = writer.context.catalog.current().indexes.find(({ name }) => name === 'by_rank')!
  const rows = Array.from({ length: count }, (_, i) => ({
    key: [Buffer.from(list), BigInt(i + 1)],
    entityId: parseId(writer.newId()),
    version: 1,
  }))
  for (let from = 0; from < count; from += 500)
    await files.shards[0]!.index(tableSpec(entry)).upsert(rows.slice(from, from + 500))
}

const FIRST = { list: LIST, rank: 0, tag: 'x', title: 'first' }
const LAST = { list: LIST, rank: 1_000_000, tag: 'x', title: 'last' }

/** Each case: rows that lead to nothing, the places between which the entity moves, and a call that has to find it. */
const calls: readonly (readonly [
  name: string,
  leftovers: number,
  places: readonly [Bag, ...Bag[]],
  find: () => Promise<number>,
])[] = [
  [
    'query, which reads more after leftovers',
    6,
    [LAST, FIRST],
    async () => (await reader.query(byRank, { list: LIST }, { limit: 2, ...SCATTER })).items.length,
  ],
  [
    'query backward',
    6,
    [FIRST, LAST],
    async () =>
      (await reader.query(byRank, { list: LIST }, { limit: 2, order: 'desc', ...SCATTER })).items.length,
  ],
  [
    'query with a value list',
    1,
    [{ ...FIRST, list: 'c' }, FIRST],
    async () => (await reader.query(byRank, { list: { in: ['a', 'b', 'c'] } }, SCATTER)).items.length,
  ],
  [
    'queryIds',
    6,
    [LAST, FIRST],
    async () => {
      const { items } = await reader.queryIds(byRank, { list: LIST }, { limit: 50, ...SCATTER })
      return items.length - 6
    },
  ],
  [
    'list',
    6,
    [LAST, FIRST],
    async () => (await reader.list(byRank, { list: LIST }, { limit: 2, ...SCATTER })).items.length,
  ],
  ['getAll', 1_200, [LAST, FIRST], async () => (await reader.getAll(byRank, { list: LIST }, SCATTER)).length],
  [
    'count with exact: true',
    1_200,
    [LAST, FIRST],
    () => reader.count(byRank, { list: LIST }, { exact: true, ...SCATTER }),
  ],
  [
    'intersect',
    60,
    [LAST, FIRST, { ...LAST, rank: 500_000 }],
    async () => {
      const conditions = [
        { index: byTag, where: { tag: 'x' } },
        { index: byRank, where: { list: LIST } },
      ] as const
      return (await reader.intersect(conditions, SCATTER)).items.length
    },
  ],
]

async function prepare(
  step: ExactStep | undefined,
  leftovers: number,
  places: readonly [Bag, ...Bag[]],
): Promise<EntityId> {
  await setExact(step)
  await writeLeftovers(leftovers)
  const { id } = await writer.put(places[0] as { list: string })
  await writer.settled()
  return id
}

test.each(calls)(
  '%s finds an entity of an exact index that moves between its statements',
  async (_, leftovers, places, find) => {
    const id = await prepare('protected', leftovers, places)
    await find()
    move = mover(id, places)
    for (let i = 0; i < 4; i++) expect(await find()).toBe(1)
  },
)

test.each(calls)(
  '%s opens no snapshot for an index that is not exact',
  async (_, leftovers, places, find) => {
    await prepare('counted', leftovers, places)
    expect(await find()).toBe(1)
    expect(sent).not.toContain('snapshot')
  },
)

test('a call that reads in several statements misses such an entity if its readers do not protect themselves', async () => {
  await setExact('counted')
  await writeLeftovers(6)
  const { id } = await writer.put(LAST)
  move = mover(id, [LAST, FIRST])
  const { items } = await reader.query(byRank, { list: LIST }, { limit: 2, ...SCATTER })
  expect(items).toEqual([])
})

test('a write deletes the rows that it loses in exact indexes with its commit, and those of other indexes later', async () => {
  const rowsOf = async (): Promise<readonly number[]> => {
    const tables = writer.context.catalog.current().indexes.map((entry) => tableSpec(entry))
    const found = await files.shards[0]!.rowsOf(tables, [parseId(id)])
    return found.map((rows) => rows.length)
  }
  await setExact('on')
  const { id } = await writer.put(FIRST)
  await writer.put(LAST, { id })
  expect(await rowsOf()).toEqual([1, 1])
  await setExact('protected')
  await writer.put(FIRST, { id })
  expect(await rowsOf()).toEqual([2, 2])
})

test('a page of an exact index that needs one statement opens no snapshot', async () => {
  await setExact('on')
  await writer.put(LAST)
  const { items } = await reader.query(byRank, { list: LIST }, SCATTER)
  expect(items).toHaveLength(1)
  const many = await reader.query(byRank, { list: { in: ['a', 'b', 'c'] } }, SCATTER)
  expect(many.items).toHaveLength(1)
  expect(await reader.getAll(byRank, { list: LIST }, SCATTER)).toHaveLength(1)
  expect(await reader.count(byRank, { list: LIST }, SCATTER)).toBe(1)
  expect(sent).not.toContain('snapshot')
})

test('many calls at once take turns with the snapshots of their shards', async () => {
  await prepare('protected', 6, [LAST, FIRST])
  const pages = Array.from({ length: 3 * MAX_SNAPSHOTS }, () =>
    reader.query(byRank, { list: LIST }, { limit: 2, ...SCATTER }),
  )
  for (const { items } of await Promise.all(pages)) expect(items).toHaveLength(1)
  expect(sent.filter((operation) => operation === 'snapshot')).toHaveLength(pages.length)
})

test('the bytes of an attempt that begins anew go back to the pages that share them', async () => {
  await prepare('protected', 6, [LAST, FIRST])
  const wheres = Array.from({ length: 5 }, () => ({ list: LIST }))
  const pages = await reader.queryMany(byRank, wheres, { limit: 2, ...SCATTER })
  expect(pages.map(({ items, cost }) => [items.length, cost.complete])).toEqual(wheres.map(() => [1, true]))
})
