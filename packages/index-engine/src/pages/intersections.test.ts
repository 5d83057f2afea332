import type { Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it } from 'vitest'
import { planOf, severalIndexes, type TestCondition, type SeveralIndexes } from '../../test/intersections.ts'
import { lastBytePlacement } from '../../test/model.ts'
import { numberOf, numbersOf } from '../../test/pages.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import type { IntersectionPlan } from './plan-intersection.ts'
import { planQuery } from './plan-query.ts'
import type { QueryPage } from './query-types.ts'
import { runQuery, type RunOptions } from './run-query.ts'

const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'tags' })
const byUser = defineIndex('by_user', {
  properties: { user: 'string', open: 'boolean', place: { type: 'integer', of: 'rank' } },
  shardOn: 'id',
})
const tagOnly = defineIndex('tag_only', { properties: { tags: 'string[]' }, shardOn: 'id' })
const userOnly = defineIndex('user_only', { properties: { user: 'string' }, shardOn: 'id' })
const down = { type: 'integer', order: 'desc', nulls: 'last' } as const
const tagDown = defineIndex('tag_down', { properties: { tags: 'string[]', rank: down }, shardOn: 'id' })
const userDown = defineIndex('user_down', { properties: { user: 'string', rank: down }, shardOn: 'user' })
const userTags = defineIndex('user_tags', {
  properties: { user: 'string', tags: 'string[]' },
  shardOn: 'user',
})
const openTags = defineIndex('open_tags', {
  properties: { open: 'boolean', tags: 'string[]' },
  shardOn: 'id',
})

// Random intersections, and a naive reference for their results.

const words = ['a', 'b', 'c']
const word = fc.constantFrom(...words)
const rank = fc.integer({ min: 0, max: 4 })
type RankRange = { readonly rank?: { readonly gt?: number; readonly gte?: number; readonly lte?: number } }
const rankRange: fc.Arbitrary<RankRange> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  rank.map((gte) => ({ rank: { gte } })),
  fc.tuple(rank, rank).map(([gt, lte]) => ({ rank: { gt, lte } })),
)

interface Case {
  readonly conditions: readonly TestCondition[]
  /** Returns the places of a matching bag; the entity stands at the least. Empty if it does not match; an empty place sorts by id alone. */
  places(bag: Bag): readonly (readonly (string | number)[])[]
}

const ranks = (bag: Bag): number[] => (typeof bag['rank'] === 'number' ? [bag['rank']] : [])
const tagsOf = (bag: Bag): readonly string[] => (bag['tags'] as readonly string[] | undefined) ?? []
const within = (value: number, range: RankRange['rank'] = {}): boolean =>
  value > (range.gt ?? -1) && value >= (range.gte ?? 0) && value <= (range.lte ?? 9)

const cases: fc.Arbitrary<Case> = fc.oneof(
  fc
    .tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.boolean(), word, rankRange, rankRange)
    .map(([tags, withUser, user, tagRange, userRange]): Case => ({
      conditions: [
        ...tags.map((tag, i) => ({ index: byTag, where: { tags: tag, ...(i === 0 && tagRange) } })),
        ...(withUser
          ? [{ index: byUser, where: { user, open: true, ...(userRange.rank && { place: userRange.rank }) } }]
          : []),
      ],
      places: (bag) => {
        const hasAll = tags.every((tag) => tagsOf(bag).includes(tag))
        const hasUser = !withUser || (bag['user'] === user && bag['open'] === true)
        if (!hasAll || !hasUser) return []
        const ranges = [tagRange.rank, withUser ? userRange.rank : undefined]
        return ranks(bag)
          .filter((value) => ranges.every((range) => within(value, range)))
          .map((value) => [value])
      },
    })),
  fc.tuple(word, word, word).map(([tag, otherTag, user]): Case => ({
    conditions: [
      { index: tagOnly, where: { tags: tag } },
      { index: userOnly, where: { user } },
      { index: tagOnly, where: { tags: otherTag } },
    ],
    places: (bag) =>
      [tag, otherTag].every((each) => tagsOf(bag).includes(each)) && bag['user'] === user ? [[]] : [],
  })),
  fc.tuple(word, word, rankRange).map(([tag, user, range]): Case => ({
    conditions: [
      { index: tagDown, where: { tags: tag } },
      { index: userDown, where: { user, ...range } },
    ],
    places(bag) {
      if (!tagsOf(bag).includes(tag) || bag['user'] !== user) return []
      const [value] = ranks(bag)
      if (value === undefined) return range.rank === undefined ? [[99]] : []
      return within(value, range.rank) ? [[-value]] : []
    },
  })),
  fc.tuple(word, word, word).map(([user, from, to]): Case => ({
    conditions: [
      { index: userTags, where: { user, tags: { gte: from } } },
      { index: openTags, where: { open: true, tags: { lte: to } } },
    ],
    // One tag has to be within both ranges.
    places: (bag) =>
      bag['user'] === user && bag['open'] === true
        ? tagsOf(bag)
            .filter((tag) => tag >= from && tag <= to)
            .map((tag) => [tag])
        : [],
  })),
  fc
    .tuple(fc.uniqueArray(word, { maxLength: 3 }), fc.array(word, { maxLength: 3 }), fc.boolean(), rankRange)
    .map(([tags, users, withUser, range]): Case => ({
      conditions: [
        { index: byTag, where: { tags: { in: tags }, ...range } },
        ...(withUser ? [{ index: byUser, where: { user: { in: users }, open: true } }] : []),
      ],
      // Several tags of a bag are at one place.
      places: (bag) =>
        tagsOf(bag).some((tag) => tags.includes(tag)) &&
        (!withUser || (users.includes(bag['user'] as string) && bag['open'] === true))
          ? ranks(bag)
              .filter((value) => within(value, range.rank))
              .map((value) => [value])
          : [],
    })),
)

function compare(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (const [i, value] of a.entries()) {
    const other = b[i]!
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}

function expected({ places }: Case, bags: readonly (Bag | undefined)[], order: 'asc' | 'desc'): number[] {
  const sign = order === 'asc' ? 1 : -1
  return bags
    .flatMap((bag, number) => {
      const [place] = (bag === undefined ? [] : places(bag)).toSorted((a, b) => sign * compare(a, b))
      return place === undefined ? [] : [{ number, place }]
    })
    .toSorted((a, b) => sign * (compare(a.place, b.place) || a.number - b.number))
    .map(({ number }) => number)
}

const bags: fc.Arbitrary<Bag> = fc.record(
  { tags: fc.array(word, { maxLength: 3 }), user: word, open: fc.boolean(), rank },
  { requiredKeys: ['tags', 'user', 'open'], noNullPrototype: true },
)
const entities = fc.array(
  fc.record({
    now: fc.option(bags, { nil: undefined, freq: 8 }),
    old: fc.array(bags, { maxLength: 1 }),
  }),
  { maxLength: 30 },
)

function fill(
  { conditions }: Case,
  all: readonly { readonly now: Bag | undefined; readonly old: readonly Bag[] }[],
  shards: number,
): SeveralIndexes {
  const store = severalIndexes(conditions, shards)
  for (const [number, { now, old }] of all.entries()) {
    for (const bag of old) store.addRows(number, bag)
    if (now !== undefined) store.addRows(number, now)
    store.commit(number, now)
  }
  return store
}

async function pagesOf(
  store: SeveralIndexes,
  plan: IntersectionPlan,
  way: 'cursor' | 'previous',
  cursor: string | undefined,
  options: RunOptions = {},
): Promise<QueryPage[]> {
  const pages: QueryPage[] = []
  let next = cursor
  do {
    if (pages.length > 2000) throw new Error('The pages do not end.')
    const page = await runQuery(store, plan, { ...options, cursor: next })
    pages.push(page)
    next = page[way]
  } while (next !== undefined)
  return pages
}

const random = fc.record({
  case: cases,
  all: entities,
  order: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.integer({ min: 1, max: 5 }),
  shards: fc.integer({ min: 1, max: 3 }),
})

describe('paging through an intersection without writes', () => {
  it('pages of an intersection have exactly the matching entities, in order, full, and the same backward', async () => {
    await fc.assert(
      fc.asyncProperty(random, async ({ case: intersection, all, order, limit, shards }) => {
        const store = fill(intersection, all, shards)
        const plan = planOf(intersection.conditions, { order, limit }, shards)
        const matching = expected(
          intersection,
          all.map(({ now }) => now),
          order,
        )
        const forward = await pagesOf(store, plan, 'cursor', undefined)
        expect(numbersOf(forward)).toEqual(matching)
        expect(forward).toHaveLength(Math.max(1, Math.ceil(matching.length / limit)))
        for (const { cost, items } of forward) {
          expect(cost.complete).toBe(true)
          expect(cost.rowsMatched).toBe(items.length)
        }
        const last = forward.at(-1)!
        if (last.previous === undefined) return
        const backward = await pagesOf(store, plan, 'previous', last.previous)
        expect([...numbersOf(backward.toReversed()), ...last.items.map(numberOf)]).toEqual(matching)
      }),
      { numRuns: runsOf(600) },
    )
  })

  it('pages of an intersection have the same entities if a call may read or examine a few rows only', async () => {
    const bounds = fc.record({
      maxRowsRead: fc.integer({ min: 1, max: 12 }),
      maxRowsExamined: fc.integer({ min: 1, max: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(random, bounds, async ({ case: intersection, all, order, limit, shards }, options) => {
        const store = fill(intersection, all, shards)
        const plan = planOf(intersection.conditions, { order, limit }, shards)
        const matching = expected(
          intersection,
          all.map(({ now }) => now),
          order,
        )
        const forward = await pagesOf(store, plan, 'cursor', undefined, options)
        expect(numbersOf(forward)).toEqual(matching)
        for (const { cost, items, cursor } of forward) {
          expect(cost.complete).toBe(items.length === limit || cursor === undefined)
        }
        const { previous, items } = forward.at(-1)!
        if (previous === undefined) return
        const backward = await pagesOf(store, plan, 'previous', previous, options)
        expect([...numbersOf(backward.toReversed()), ...items.map(numberOf)]).toEqual(matching)
      }),
      { numRuns: runsOf(600) },
    )
  })
})

describe('an entity that matches during a whole call', () => {
  const two: readonly TestCondition[] = [
    { index: byTag, where: { tags: 'a' } },
    { index: byTag, where: { tags: 'b' } },
  ]
  const tags = ['a', 'b']

  it('an entity that moves during a call is found, wherever and whenever it moves', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          from: fc.nat(60),
          to: fc.nat(60),
          at: fc.nat(6),
          limit: fc.integer({ min: 70, max: 99 }),
        }),
        fc.boolean(),
        async ({ from, to, at, limit }, isDown) => {
          const store = severalIndexes(two, 1)
          // Rows with one of the tags only, so that both indexes are read in several scans.
          for (let number = 1; number <= 60; number++) {
            const bag = { tags: [tags[number % 2]!], rank: number }
            store.addRows(number, bag)
            store.commit(number, bag)
          }
          store.addRows(100, { tags, rank: from })
          store.commit(100, { tags, rank: from })
          let scans = 0
          store.onScan = () => {
            if (scans++ !== at) return
            // Rows first, then the entity. The lost row stays during the query.
            store.addRows(100, { tags, rank: to })
            store.commit(100, { tags, rank: to })
          }
          const plan = planOf(two, { limit, order: isDown ? 'desc' : 'asc' })
          const { items } = await runQuery(store, plan)
          expect(items.map(numberOf)).toEqual([100])
        },
      ),
      { numRuns: runsOf(150) },
    )
  })

  it('an entity is found although its row in one index is deferred', async () => {
    const store = severalIndexes(two, 1)
    for (const [number, place] of [
      [1, 1],
      [2, 5],
      [3, 9],
    ] as const) {
      store.addRows(number, { tags, rank: place })
      store.commit(number, { tags, rank: place })
    }
    // Entity 1 has moved behind entity 2, where only the first index has its row.
    store.commit(1, { tags, rank: 7 })
    store.addRows(1, { tags, rank: 7 }, [0])
    for (const limit of [2, 5]) {
      const pages = await pagesOf(store, planOf(two, { limit }), 'cursor', undefined)
      expect(numbersOf(pages).toSorted()).toEqual([1, 2, 3])
    }
  })
})

describe('the work of an intersection', () => {
  const pair = (
    ofFirst: (number: number) => boolean,
    ofSecond: (number: number) => boolean,
    count: number,
  ) => {
    const conditions = [
      { index: userOnly, where: { user: 'a' } },
      { index: tagOnly, where: { tags: 'x' } },
    ]
    const store = severalIndexes(conditions, 1)
    for (let number = 0; number < count; number++) {
      const bag = { user: ofFirst(number) ? 'a' : 'b', tags: ofSecond(number) ? ['x'] : [] }
      store.addRows(number, bag)
      store.commit(number, bag)
    }
    return { store, plan: planOf(conditions, { limit: 50 }) }
  }

  it('an intersection scans each index once if all rows are common', async () => {
    const { store, plan } = pair(
      () => true,
      () => true,
      200,
    )
    const { items, cost } = await runQuery(store, plan)
    expect(items).toHaveLength(50)
    expect(cost).toMatchObject({
      indexReads: 2,
      rowsRead: 102,
      rowsExamined: 50,
      entityReads: 1,
      complete: true,
    })
  })

  it('an intersection reads few rows of a long range if the other range is short', async () => {
    const { store, plan } = pair(
      (number) => number % 1000 === 999,
      () => true,
      6000,
    )
    const { items, cost } = await runQuery(store, plan)
    expect(items).toHaveLength(6)
    expect(cost.rowsRead).toBeLessThan(800)
    expect(cost.indexReads).toBeLessThan(12)
  })

  it('a full page is complete although the intersection stops reading behind it', async () => {
    const { store, plan } = pair(
      (number) => number !== 5,
      () => true,
      60,
    )
    const page = await runQuery(store, { ...plan, limit: 20 }, { maxRowsRead: 30 })
    expect(page).toMatchObject({ cost: { rowsRead: 42, rowsMatched: 20, complete: true } })
    expect(page.cursor).toBeDefined()
  })

  it('an intersection skips the rows between two clusters', async () => {
    const { store, plan } = pair(
      (number) => number < 3000 || number === 5999,
      (number) => number >= 3000,
      6000,
    )
    const { items, cost } = await runQuery(store, plan)
    expect(items.map(numberOf)).toEqual([5999])
    expect(cost.rowsRead).toBeLessThan(300)
    expect(cost.indexReads).toBeLessThan(8)
  })

  it('an intersection reads alternating rows in ever larger scans', async () => {
    const { store, plan } = pair(
      (number) => number % 2 === 0 || number === 5999,
      (number) => number % 2 === 1,
      6000,
    )
    const { items, cost } = await runQuery(store, plan)
    expect(items.map(numberOf)).toEqual([5999])
    expect(cost.rowsRead).toBeLessThan(7100)
    expect(cost.indexReads).toBeLessThan(24)
  })

  it('an intersection with a list scans the range of each value once, and examines an entity with several of them once', async () => {
    const conditions = [
      { index: byTag, where: { tags: { in: ['a', 'b', 'c'] } } },
      { index: byUser, where: { user: 'a', open: true } },
    ]
    const store = severalIndexes(conditions, 1)
    for (let number = 0; number < 30; number++) {
      const bag = {
        user: 'a',
        open: true,
        tags: [words[number % 3]!, words[(number + 1) % 3]!],
        rank: number,
      }
      store.addRows(number, bag)
      store.commit(number, bag)
    }
    const { items, cost } = await runQuery(store, planOf(conditions, { limit: 30 }))
    expect(items.map(numberOf)).toEqual(Array.from({ length: 30 }, (_, i) => i))
    expect(cost).toMatchObject({ indexReads: 4, rowsRead: 90, rowsExamined: 30, rowsDiscarded: 0 })
  })

  it('an intersection of indexes sharded on id works shard by shard, and ends with the shorter range', async () => {
    const conditions = [
      { index: userOnly, where: { user: 'a' } },
      { index: tagOnly, where: { tags: 'x' } },
    ]
    const store = severalIndexes(conditions, 3)
    const bag = { user: 'a', tags: ['x'] }
    for (let number = 0; number < 30; number++) {
      store.addRows(number, bag)
      store.commit(number, bag)
    }
    const { items, cost } = await runQuery(store, planOf(conditions, {}, 3))
    expect(items).toHaveLength(30)
    expect(cost).toMatchObject({ shards: 3, indexReads: 6, rowsRead: 60 })
  })
})

describe('an invalid intersection', () => {
  const refused: [string, readonly TestCondition[], object, RegExp][] = [
    [
      'with other properties after the values',
      [
        { index: byTag, where: { tags: 'a' } },
        { index: userOnly, where: { user: 'a' } },
      ],
      {},
      /Indexes by_tag and user_only cannot be read together: .* The first has rank integer, the second ids/,
    ],
    [
      'with another direction',
      [
        { index: byTag, where: { tags: 'a' } },
        { index: userDown, where: { user: 'a' } },
      ],
      {},
      /The first has rank integer, the second rank integer desc nulls last/,
    ],
    [
      'with lists of too many values',
      [
        { index: byTag, where: { tags: { in: Array.from({ length: 60 }, (_, i) => `a${i}`) } } },
        { index: byUser, where: { user: { in: Array.from({ length: 41 }, (_, i) => `a${i}`) }, open: true } },
        { index: byTag, where: { tags: 'a' } },
      ],
      {},
      /The lists for index by_tag and by_user make 101 ranges; an intersection reads 100/,
    ],
    [
      'on all shards without scatter',
      [
        { index: userOnly, where: { user: 'a' } },
        { index: tagOnly, where: { tags: 'a' } },
      ],
      { scatter: false },
      /Index user_only has its rows on the shards of their entities/,
    ],
    [
      'with a bad order',
      [{ index: userOnly, where: { user: 'a' } }],
      { order: 'up' },
      /Indexes user_only: order has/,
    ],
    ['with a bad limit', [{ index: userOnly, where: { user: 'a' } }], { limit: 0 }, /limit has to be/],
  ]
  it.each(refused)('an intersection %s is BAD_QUERY', (_, conditions, options, message) => {
    const error = errorOf(() => planOf(conditions, options))
    expect(error).toMatchObject({ code: 'BAD_QUERY' })
    expect(error.message).toMatch(message)
  })
})

describe('the cursor of an intersection', () => {
  const conditionsOf = (tag: string): readonly TestCondition[] => [
    { index: byTag, where: { tags: tag } },
    { index: byTag, where: { tags: 'b' } },
  ]
  async function cursorOf(conditions: readonly TestCondition[]): Promise<string> {
    const store = severalIndexes(conditions, 1)
    for (const number of [1, 2]) {
      store.addRows(number, { tags: ['a', 'b', 'c'], rank: number })
      store.commit(number, { tags: ['a', 'b', 'c'], rank: number })
    }
    const { cursor } = await runQuery(store, planOf(conditions, { limit: 1 }))
    return cursor as string
  }
  const read = (plan: IntersectionPlan | ReturnType<typeof planQuery>, cursor: string) =>
    runQuery(severalIndexes(conditionsOf('a'), 1), plan, { cursor })

  it('a cursor is valid for the same conditions in any order, and for no others', async () => {
    const cursor = await cursorOf(conditionsOf('a'))
    await expect(read(planOf(conditionsOf('a')), cursor)).resolves.toMatchObject({ items: [] })
    await expect(read(planOf(conditionsOf('a').toReversed()), cursor)).resolves.toMatchObject({ items: [] })
    await expect(read(planOf(conditionsOf('c')), cursor)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    await expect(read(planOf(conditionsOf('a').slice(0, 1)), cursor)).rejects.toMatchObject({
      code: 'BAD_CURSOR',
    })
    const query = (index: IndexDefinition) =>
      planQuery({ ...index, generation: 1 }, { tags: 'a' }, { scatter: true }, lastBytePlacement(1))
    await expect(read(query(byTag), cursor)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    const single = await cursorOf(conditionsOf('a').slice(0, 1))
    await expect(read(query(byTag), single)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
  })
})
