import { isLooseleafError, metaOf, type Bag, type PropertyValue } from '@looseleaf/core'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { idOf } from '../../test/model.ts'
import {
  fill,
  moveDuringCalls,
  numberOf,
  numbersOf,
  pagesFrom,
  pagesOf,
  plan,
  rankMoves,
} from '../../test/pages.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import type { QueryPage } from './query-types.ts'
import type { QueryPlan } from './plan-query.ts'
import { runQuery } from './run-query.ts'

type Scalar = string | bigint | boolean
type Condition = Scalar | { readonly [operator: string]: Scalar | readonly Scalar[] }

/** UTF-8 and UTF-16 sort the last two differently. */
const WORDS = ['', 'a', 'ab', 'b', '\uffee', '\u{1f600}']
const RANKS = [-(2n ** 60n), -1n, 0n, 1n, 2n ** 60n]
const POOLS: Readonly<Record<string, readonly Scalar[]>> = {
  user: WORDS,
  tags: WORDS,
  rank: RANKS,
  open: [false, true],
}

const INDEXES: readonly IndexDefinition[] = [
  defineIndex('by_user', { properties: { user: 'string', rank: 'integer' }, shardOn: 'user' }),
  defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'id' }),
  defineIndex('by_user_tag', { properties: { user: 'string', tags: 'string[]' }, shardOn: 'tags' }),
  defineIndex('by_rank', {
    properties: { rank: 'integer', tags: 'string[]', open: 'boolean' },
    shardOn: 'rank',
  }),
  defineIndex('best_first', {
    properties: { user: 'string', rank: { type: 'integer', order: 'desc' }, tags: 'string[]' },
    shardOn: 'user',
  }),
  defineIndex('tags_down', {
    properties: { tags: { type: 'string[]', order: 'desc' }, rank: 'integer' },
    shardOn: 'tags',
  }),
]

// A naive reference for the rows of an index.

function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}

function scalarsOf(value: PropertyValue | undefined, many: boolean): Scalar[] {
  if (many)
    return Array.isArray(value) ? value.flatMap((element: PropertyValue) => scalarsOf(element, false)) : []
  if (typeof value === 'number') return Number.isInteger(value) ? [BigInt(value)] : []
  return typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' ? [value] : []
}

function tuplesOf(index: IndexDefinition, bag: Bag): Scalar[][] {
  let tuples: Scalar[][] = [[]]
  for (const { name, many, type } of index.properties) {
    const kind = type === 'integer' ? 'bigint' : type
    const values = scalarsOf(bag[name], many).filter((value) => typeof value === kind)
    tuples = tuples.flatMap((tuple) => values.map((value) => [...tuple, value]))
  }
  return tuples
}

function holds(value: Scalar, condition: Condition): boolean {
  if (typeof condition !== 'object') return value === condition
  return Object.entries(condition).every(([operator, bound]) => {
    if (typeof bound === 'object') return bound.includes(value)
    const order = compareScalars(value, bound)
    return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[operator]
  })
}

function compareTuples(index: IndexDefinition, a: readonly Scalar[], b: readonly Scalar[]): number {
  const orders = a.map((value, i) => {
    const isDown = index.properties[i]?.order === 'desc'
    return isDown ? compareScalars(b[i] as Scalar, value) : compareScalars(value, b[i] as Scalar)
  })
  return orders.find((order) => order !== 0) ?? 0
}

/** Returns the numbers of the matching entities, in order. */
function oracle(
  index: IndexDefinition,
  bags: readonly (Bag | undefined)[],
  where: Readonly<Record<string, Condition>>,
  order: 'asc' | 'desc',
): number[] {
  const sign = order === 'asc' ? 1 : -1
  const found = bags.flatMap((bag, number) => {
    const tuples = tuplesOf(index, bag ?? {}).filter((tuple) =>
      index.properties.every(
        ({ name }, i) => where[name] === undefined || holds(tuple[i] as Scalar, where[name]),
      ),
    )
    const first = tuples.toSorted((a, b) => sign * compareTuples(index, a, b))[0]
    return first === undefined ? [] : [{ number, first }]
  })
  return found
    .toSorted((a, b) => sign * (compareTuples(index, a.first, b.first) || a.number - b.number))
    .map(({ number }) => number)
}

// Random stores and queries.

const word = fc.constantFrom(...WORDS)
const bagArbitrary: fc.Arbitrary<Bag> = fc.record(
  {
    user: fc.oneof({ weight: 6, arbitrary: word }, fc.constantFrom(null, 7)),
    tags: fc.oneof(
      { weight: 8, arbitrary: fc.array(fc.oneof({ weight: 8, arbitrary: word }, fc.constantFrom(null, 7))) },
      fc.constantFrom(null, 'a'),
    ),
    rank: fc.oneof(fc.constantFrom(...RANKS), fc.integer({ min: -1, max: 1 }), fc.constantFrom('1', 1.5)),
    open: fc.boolean(),
  },
  { noNullPrototype: true },
)

const entityArbitrary = fc.record({
  now: fc.option(bagArbitrary, { nil: undefined, freq: 8 }),
  /** Old bags whose rows still exist. */
  old: fc.array(bagArbitrary, { maxLength: 2 }),
})

const rangeArbitrary = (pool: readonly Scalar[]): fc.Arbitrary<Condition> =>
  fc
    .tuple(
      fc.constantFrom('gt', 'gte', ''),
      fc.constantFrom(...pool),
      fc.constantFrom('lt', 'lte', ''),
      fc.constantFrom(...pool),
    )
    .map(([lower, low, upper, high]) => ({
      ...(lower === '' && upper !== '' ? {} : { [lower === '' ? 'gte' : lower]: low }),
      ...(upper === '' ? {} : { [upper]: high }),
    }))

/** Lists for three properties make at most 64 ranges of the 100 that a query may read. */
const MAX_DISTINCT = 4

/** A value, or a list of some with repeats. */
const valueArbitrary = (pool: readonly Scalar[]): fc.Arbitrary<Condition> =>
  fc.oneof(
    fc.constantFrom(...pool),
    fc
      .array(fc.constantFrom(...pool), { minLength: 1, maxLength: 6 })
      .filter((list) => new Set(list).size <= MAX_DISTINCT)
      .map((list) => ({ in: list })),
  )

const queryArbitrary = fc.constantFrom(...INDEXES).chain((index) =>
  fc
    .tuple(fc.nat(index.properties.length), fc.boolean())
    .chain(([equal, withRange]) => {
      const names = index.properties.slice(0, equal + (withRange ? 1 : 0)).map(({ name }) => name)
      const conditions = names.map((name, i) => {
        const pool = POOLS[name] ?? []
        return i < equal ? valueArbitrary(pool) : rangeArbitrary(pool)
      })
      return fc
        .tuple(...conditions)
        .map((values) => Object.fromEntries(names.map((name, i) => [name, values[i] as Condition])))
    })
    .map((where) => ({ index, where })),
)

const caseArbitrary = fc.record({
  query: queryArbitrary,
  entities: fc.array(entityArbitrary, { maxLength: 14 }),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.integer({ min: 1, max: 9 }),
  shards: fc.integer({ min: 1, max: 3 }),
})

describe('paging without writes', () => {
  it('pages have exactly the matching entities, in order, full, and the last one has no cursor', async () => {
    await fc.assert(
      fc.asyncProperty(caseArbitrary, async ({ query: { index, where }, entities, order, limit, shards }) => {
        const store = fill(index, entities, shards)
        const expected = oracle(
          index,
          entities.map(({ now }) => now),
          where,
          order,
        )
        const pages = await pagesOf(store, plan(index, where, { order, limit }, shards))
        expect(numbersOf(pages)).toEqual(expected)
        expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)))
        for (const page of pages.slice(0, -1)) expect(page.items).toHaveLength(limit)
        for (const { cost, items } of pages) {
          expect(cost.complete).toBe(true)
          expect(cost.rowsMatched).toBe(items.length)
          expect(cost.rowsExamined).toBe(cost.rowsMatched + cost.rowsDiscarded)
        }
      }),
      { numRuns: runsOf(1500) },
    )
  })

  it('pages have the same entities if a call may examine a few rows only', async () => {
    const maxRows = fc.integer({ min: 1, max: 4 })
    await fc.assert(
      fc.asyncProperty(caseArbitrary, maxRows, async (given, maxRowsExamined) => {
        const { query, entities, order, limit, shards } = given
        const store = fill(query.index, entities, shards)
        const expected = oracle(
          query.index,
          entities.map(({ now }) => now),
          query.where,
          order,
        )
        const pages = await pagesOf(store, plan(query.index, query.where, { order, limit }, shards), {
          maxRowsExamined,
        })
        expect(numbersOf(pages)).toEqual(expected)
        for (const { cost, items, cursor } of pages) {
          expect(cost.rowsExamined).toBeLessThanOrEqual(maxRowsExamined)
          expect(cost.complete).toBe(items.length === limit || cursor === undefined)
        }
      }),
      { numRuns: runsOf(500) },
    )
  })

  it('pages have the same entities if they end by their bytes, in groups of any size', async () => {
    const sizes = fc.array(fc.nat(5), { minLength: 14, maxLength: 14 })
    const bounds = fc.record({
      maxBytes: fc.integer({ min: 1, max: 12 }),
      groupOf: fc.integer({ min: 1, max: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(caseArbitrary, sizes, bounds, async (given, bytes, { maxBytes, groupOf }) => {
        const { index, where } = given.query
        const { order, limit, shards } = given
        const entities = given.entities.map(({ now, old }, i) => ({
          now: now && { ...now, bytes: bytes[i] as number },
          old,
        }))
        const store = fill(index, entities, shards)
        store.groupOf = groupOf
        const expected = oracle(
          index,
          entities.map(({ now }) => now),
          where,
          order,
        )
        const pages = await pagesOf(store, plan(index, where, { order, limit }, shards), { maxBytes })
        expect(numbersOf(pages)).toEqual(expected)
        for (const { cost, items, cursor } of pages) {
          const weights = items.map((item) => Number(item['bytes']))
          const weight = weights.reduce((sum, each) => sum + each, 0)
          // Only the last entity may exceed the bound.
          expect(weight - (weights.at(-1) ?? 0)).toBeLessThan(maxBytes)
          expect(cost.complete).toBe(items.length === limit || weight < maxBytes || cursor === undefined)
          if (weight < maxBytes && items.length < limit) expect(cursor).toBeUndefined()
        }
      }),
      { numRuns: runsOf(700) },
    )
  })

  it('a page of large entities reads no more of them than it needs', async () => {
    const large = Array.from({ length: 100 }, (_, rank) => ({ now: { rank, bytes: 10 }, old: [] }))
    const store = fill(byRank, large, 1)
    store.groupOf = 2
    let groups = 0
    const { read } = store
    store.read = (ids, signal, take) =>
      read(ids, signal, (group) => {
        groups++
        return take(group)
      })
    const { items, cost, cursor } = await runQuery(store, plan(byRank, {}, { limit: 80 }), { maxBytes: 35 })
    expect(items).toHaveLength(4)
    expect(groups).toBe(2)
    expect(cursor).toBeDefined()
    expect(cost).toMatchObject({ complete: false, rowsExamined: 4 })
  })

  /** Steps from page to page, in any direction. */
  const walk = fc.array(
    fc.record({ way: fc.constantFrom('cursor', 'previous'), limit: fc.integer({ min: 1, max: 5 }) }),
    { minLength: 1, maxLength: 12 },
  )
  const bounds = fc.record(
    { maxRowsExamined: fc.integer({ min: 1, max: 5 }), maxBytes: fc.integer({ min: 1, max: 6 }) },
    { requiredKeys: [] },
  )

  it('backward pages have the same entities as forward ones, in the order of the query, and are full', async () => {
    await fc.assert(
      fc.asyncProperty(caseArbitrary, async ({ query: { index, where }, entities, order, limit, shards }) => {
        const store = fill(index, entities, shards)
        const query = plan(index, where, { order, limit }, shards)
        const forward = await pagesOf(store, query)
        expect(forward[0]?.previous).toBeUndefined()
        for (const page of forward.slice(1)) expect(page.previous).toBeDefined()
        const last = forward.at(-1) as QueryPage
        const backward = await pagesFrom(store, query, last, 'previous')
        expect(numbersOf([...backward.toReversed(), last])).toEqual(numbersOf(forward))
        for (const { cursor, cost, items } of backward) {
          expect(cursor).toBeDefined()
          expect(items).toHaveLength(limit)
          expect(cost.complete).toBe(true)
          expect(cost.rowsMatched).toBe(items.length)
          expect(cost.rowsExamined).toBe(cost.rowsMatched + cost.rowsDiscarded)
        }
        // One page for each before the last, and no empty one.
        expect(backward).toHaveLength(forward.length - 1)
      }),
      { numRuns: runsOf(1000) },
    )
  })

  it('paging back and forth gives the entities directly after or before, with any limits and bounds', async () => {
    await fc.assert(
      fc.asyncProperty(caseArbitrary, walk, bounds, async (given, steps, options) => {
        const { index, where } = given.query
        const { entities, order, shards } = given
        const store = fill(index, entities, shards)
        const expected = oracle(
          index,
          entities.map(({ now }) => now),
          where,
          order,
        )
        /** The cuts around the page, as numbers of entities before them. */
        let [from, to] = [0, 0]
        let page: QueryPage | undefined
        for (const { way, limit } of steps) {
          const cursor = page?.[way]
          if (page !== undefined && cursor === undefined) {
            // A page without the cursor is at the end.
            if (way === 'cursor') expect(to).toBe(expected.length)
            else expect(from).toBe(0)
            continue
          }
          const backward = page !== undefined && way === 'previous'
          const query = plan(index, where, { order, limit }, shards)
          page = await runQuery(store, query, { ...options, cursor })
          const numbers = page.items.map(numberOf)
          if (backward) [from, to] = [from - numbers.length, from]
          else [from, to] = [to, to + numbers.length]
          expect(numbers).toEqual(expected.slice(Math.max(0, from), to))
          const onward = backward ? page.previous : page.cursor
          if (page.cost.complete && numbers.length < limit) expect(onward).toBeUndefined()
          if (options.maxRowsExamined === undefined && options.maxBytes === undefined) {
            expect(onward === undefined).toBe(backward ? from === 0 : to === expected.length)
          }
        }
      }),
      { numRuns: runsOf(2000) },
    )
  })

  it('a call reads an entity at most once, and its cost counts every read', async () => {
    await fc.assert(
      fc.asyncProperty(caseArbitrary, async ({ query: { index, where }, entities, order, limit, shards }) => {
        const store = fill(index, entities, shards)
        const { cost } = await runQuery(store, plan(index, where, { order, limit }, shards))
        const scans = store.calls.filter((call) => 'scan' in call)
        const reads = store.calls.flatMap((call) => ('read' in call ? [call.read] : []))
        expect(new Set(reads.flat()).size).toBe(reads.flat().length)
        expect(cost.entitiesRead).toBe(reads.flat().length)
        expect(cost.entityReads).toBe(reads.length)
        expect(cost.indexReads).toBe(scans.length)
      }),
      { numRuns: runsOf(300) },
    )
  })
})

const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const byTags = defineIndex('by_tags', { properties: { tags: 'string[]' }, shardOn: 'id' })

describe('an entity that is written during paging', () => {
  it('an entity that moves in the direction of reading is not missed on one shard', async () => {
    await fc.assert(
      fc.asyncProperty(rankMoves(30), fc.integer({ min: 1, max: 6 }), async (moves, limit) => {
        const store = fill(
          byRank,
          moves.map(({ from }) => ({ now: { rank: from }, old: [] })),
          1,
        )
        moveDuringCalls(store, moves, 1)
        const pages = await pagesOf(store, plan(byRank, {}, { limit }))
        expect([...new Set(numbersOf(pages))].toSorted((a, b) => a - b)).toEqual([...moves.keys()])
        for (const page of pages) expect(new Set(page.items.map(numberOf)).size).toBe(page.items.length)
      }),
      { numRuns: runsOf(500) },
    )
  })

  it.each([
    [2, [[3, 0], [4]]],
    [3, [[3, 0, 4]]],
  ])('an entity with a deferred row comes at its place, on pages of %i', async (limit, pages) => {
    const deleted = (rank: number) => ({ now: undefined, old: [{ rank }] })
    const stored = (rank: number) => ({ now: { rank }, old: [] })
    const store = fill(byRank, [stored(1), deleted(2), deleted(3), stored(7), stored(9)], 1)
    store.onCall = () => {
      if (store.calls.length === 1) store.commit(idOf(0), { rank: 8 })
    }
    const found = await pagesOf(store, plan(byRank, {}, { limit }))
    expect(found.map(({ items }) => items.map(numberOf))).toEqual(pages)
  })

  it('an entity with a deferred row may be the last one', async () => {
    const store = fill(
      byRank,
      [2, 4].map((rank) => ({ now: undefined, old: [{ rank }] })),
      1,
    )
    store.addRows(idOf(2), { rank: 1 })
    store.commit(idOf(2), { rank: 8 })
    const page = await runQuery(store, plan(byRank, {}, { limit: 1 }))
    expect(page.items.map(numberOf)).toEqual([2])
    expect(page.cursor).toBeUndefined()
  })

  it.each([
    ['back', 1],
    ['on, to a place that was fetched already', 7],
  ])('an entity that moves %s after its row was read is taken at that row', async (_, rank) => {
    const store = fill(
      byRank,
      [2, 4, 6, 8].map((now) => ({ now: { rank: now }, old: [] })),
      1,
    )
    store.onCall = () => {
      if (store.calls.length !== 1) return
      store.addRows(idOf(1), { rank })
      store.commit(idOf(1), { rank })
    }
    const page = await runQuery(store, plan(byRank, {}, { limit: 4 }))
    expect(page.items.map(numberOf)).toEqual([0, 1, 2, 3])
    expect(page.items[1]?.['rank']).toBe(rank)
  })

  it('an entity is taken at its old row if its new place was read already on another shard', async () => {
    const store = fill(
      byRank,
      [2, 4, 6, 8, 10, 12].map((now) => ({ now: { rank: now }, old: [] })),
      2,
    )
    store.onCall = () => {
      // Both shards were scanned already, so its new row is not among the fetched rows.
      if (store.calls.length !== 2) return
      store.addRows(idOf(1), { rank: 11 })
      store.commit(idOf(1), { rank: 11 })
    }
    const page = await runQuery(store, plan(byRank, {}, { limit: 3 }, 2))
    expect(page.items.map(numberOf)).toEqual([0, 1, 2])
    expect(page.items[1]?.['rank']).toBe(11)
  })

  it('an entity that has moved to an earlier page is not on this one', async () => {
    const store = fill(
      byRank,
      [2, 4, 6, 8].map((now) => ({ now: { rank: now }, old: [] })),
      1,
    )
    const query = plan(byRank, {}, { limit: 2 })
    const { cursor } = await runQuery(store, query)
    store.addRows(idOf(3), { rank: 1 })
    store.commit(idOf(3), { rank: 1 })
    const next = await runQuery(store, query, { cursor })
    expect(next.items.map(numberOf)).toEqual([2])
    expect(next.cost.rowsDiscarded).toBe(1)
  })
})

describe('the work of a call', () => {
  const rows = (count: number): { now: Bag; old: Bag[] }[] =>
    Array.from({ length: count }, (_, rank) => ({ now: { rank }, old: [] }))

  it('a call without lost rows takes one scan with one more row, and one read', async () => {
    const store = fill(byRank, rows(100), 1)
    const { cost, cursor } = await runQuery(store, plan(byRank, {}, { limit: 20 }))
    expect(cursor).toBeDefined()
    expect(cost).toEqual({
      shards: 1,
      indexReads: 1,
      rowsRead: 21,
      entityReads: 1,
      rowsExamined: 20,
      rowsMatched: 20,
      rowsDiscarded: 0,
      entitiesRead: 21,
      complete: true,
    })
    expect(store.calls[0]).toMatchObject({ scan: { limit: 21 } })
  })

  it('a call takes one scan per shard if the shards have fewer rows than the limit', async () => {
    const store = fill(byRank, rows(5), 3)
    const { cost, items } = await runQuery(store, plan(byRank, {}, { limit: 20 }, 3))
    expect(items).toHaveLength(5)
    expect(cost).toMatchObject({ shards: 3, indexReads: 3, entityReads: 1, entitiesRead: 5 })
  })

  it('a list takes one scan if its first value has enough rows, and several together otherwise', async () => {
    const list = Array.from({ length: 100 }, (_, i) => `${i + 100}`)
    const byUser = INDEXES[0] as IndexDefinition
    const entities = list.map((user, rank) => ({ now: { user, rank }, old: [] }))
    const store = fill(byUser, entities, 3)
    const query = (limit: number): QueryPlan => plan(byUser, { user: { in: list } }, { limit }, 3)
    const { cost } = await runQuery(store, query(1))
    // One scan tells whether another entity follows, and one starts together with it.
    expect(cost).toMatchObject({ indexReads: 3, shards: 3, entitiesRead: 2, rowsExamined: 1 })
    const several = Array.from({ length: 40 }, (_, rank) => ({ now: { user: '100', rank }, old: [] }))
    const first = await runQuery(fill(byUser, several, 3), query(30))
    expect(first.cost).toMatchObject({ indexReads: 1, shards: 1, rowsExamined: 30 })
    const all = await runQuery(store, query(200))
    expect(all.items).toHaveLength(100)
    expect(all.cost).toMatchObject({ indexReads: 100, shards: 3, entityReads: 1 })
  })

  it('a call passes many lost rows in few scans of at most 1,001 rows', async () => {
    const old = Array.from({ length: 6000 }, (_, rank) => ({ now: undefined, old: [{ rank }] }))
    const store = fill(byRank, [...old, { now: { rank: 6000 }, old: [] }], 1)
    const { items, cost } = await runQuery(store, plan(byRank, {}, { limit: 1 }))
    expect(items).toHaveLength(1)
    expect(cost.rowsDiscarded).toBe(6000)
    expect(cost.indexReads).toBeLessThan(20)
    for (const call of store.calls)
      expect('scan' in call ? call.scan.limit : call.read.length).toBeLessThanOrEqual(1001)
  })

  it('a call ends after 10,000 rows, with a cursor and complete: false', async () => {
    const old = Array.from({ length: 10_005 }, (_, rank) => ({ now: undefined, old: [{ rank }] }))
    const store = fill(
      byRank,
      [{ now: { rank: -1 }, old: [] }, ...old, { now: { rank: 20_000 }, old: [] }],
      1,
    )
    const query = plan(byRank, {}, { limit: 2 })
    const first = await runQuery(store, query)
    expect(first.items).toHaveLength(1)
    expect(first.cost).toMatchObject({ rowsExamined: 10_000, complete: false })
    const second = await runQuery(store, query, { cursor: first.cursor })
    expect(second.items).toHaveLength(1)
    expect(second.cost.complete).toBe(true)
    expect(second.cursor).toBeUndefined()
  })

  it('an entity with many elements is read once and comes once', async () => {
    const tags = Array.from({ length: 200 }, (_, i) => `tag ${i}`)
    const store = fill(byTags, [{ now: { tags }, old: [] }], 1)
    const { items, cost, cursor } = await runQuery(store, plan(byTags, {}, { limit: 10 }))
    expect(items).toHaveLength(1)
    expect(cursor).toBeUndefined()
    expect(cost).toMatchObject({ rowsExamined: 200, rowsDiscarded: 199, entitiesRead: 1 })
  })
})

describe('the items of a page', () => {
  it('an entity has its id first, and metaOf gives its version and time', async () => {
    const store = fill(byRank, [{ now: { rank: 1, title: 'A page' }, old: [] }], 1)
    const [entity] = (await runQuery(store, plan(byRank, {}, {}))).items
    expect(Object.keys(entity ?? {})).toEqual(['id', 'rank', 'title'])
    expect(metaOf(entity ?? {})).toEqual({ version: 1, updated: new Date('2009-02-27T00:00:00Z') })
  })

  it('a call with an aborted signal reads nothing', async () => {
    const store = fill(byRank, [{ now: { rank: 1 }, old: [] }], 1)
    const failure = await runQuery(store, plan(byRank, {}, {}), { signal: AbortSignal.abort() }).catch(
      (error: unknown) => error,
    )
    expect(isLooseleafError(failure, 'ABORTED')).toBe(true)
    expect(store.calls).toHaveLength(0)
  })
})
