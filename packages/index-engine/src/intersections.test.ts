import type { Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../test/codes.ts'
import { planOf, severalIndexes, type Asked, type SeveralIndexes } from '../test/intersections.ts'
import { numberOf, numbersOf } from '../test/pages.ts'
import { defineIndex, type IndexDefinition } from './define-index.ts'
import type { IntersectionPlan } from './plan-intersection.ts'
import { planQuery } from './plan-query.ts'
import type { QueryPage } from './query-types.ts'
import { runQuery, type RunOptions } from './run-query.ts'
import { lastByteRouter } from '../test/model.ts'

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

// Random intersections, and what they should give, said in the plainest way.

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
  readonly asked: readonly Asked[]
  /** Where an entity stands that matches: the least of its places. None: at its id. */
  places(bag: Bag): readonly (readonly (string | number)[])[]
}

const ranks = (bag: Bag): number[] => (typeof bag['rank'] === 'number' ? [bag['rank']] : [])
const tagsOf = (bag: Bag): readonly string[] => (bag['tags'] as readonly string[] | undefined) ?? []
const within = (value: number, range: RankRange['rank'] = {}): boolean =>
  value > (range.gt ?? -1) && value >= (range.gte ?? 0) && value <= (range.lte ?? 9)

const cases: fc.Arbitrary<Case> = fc.oneof(
  fc
    .tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.boolean(), word, rankRange, rankRange)
    .map(([tags, withUser, user, own, other]): Case => ({
      asked: [
        ...tags.map((tag, i) => ({ index: byTag, where: { tags: tag, ...(i === 0 && own) } })),
        ...(withUser
          ? [{ index: byUser, where: { user, open: true, ...(other.rank && { place: other.rank }) } }]
          : []),
      ],
      places: (bag) => {
        const hasAll = tags.every((tag) => tagsOf(bag).includes(tag))
        const hasUser = !withUser || (bag['user'] === user && bag['open'] === true)
        if (!hasAll || !hasUser) return []
        const ranges = [own.rank, withUser ? other.rank : undefined]
        return ranks(bag)
          .filter((value) => ranges.every((range) => within(value, range)))
          .map((value) => [value])
      },
    })),
  fc.tuple(word, word, word).map(([one, other, user]): Case => ({
    asked: [
      { index: tagOnly, where: { tags: one } },
      { index: userOnly, where: { user } },
      { index: tagOnly, where: { tags: other } },
    ],
    places: (bag) =>
      [one, other].every((tag) => tagsOf(bag).includes(tag)) && bag['user'] === user ? [[]] : [],
  })),
  fc.tuple(word, word, rankRange).map(([tag, user, range]): Case => ({
    asked: [
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
    asked: [
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
    left: fc.array(bags, { maxLength: 1 }),
  }),
  { maxLength: 30 },
)

function fill(
  { asked }: Case,
  all: readonly { readonly now: Bag | undefined; readonly left: readonly Bag[] }[],
  shards: number,
): SeveralIndexes {
  const store = severalIndexes(asked, shards)
  for (const [number, { now, left }] of all.entries()) {
    for (const bag of left) store.addRows(number, bag)
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

describe('paging through an intersection that nobody writes', () => {
  it('gives exactly what matches all, in order, full pages, and the same backward', async () => {
    await fc.assert(
      fc.asyncProperty(random, async ({ case: one, all, order, limit, shards }) => {
        const store = fill(one, all, shards)
        const plan = planOf(one.asked, { order, limit }, shards)
        const right = expected(
          one,
          all.map(({ now }) => now),
          order,
        )
        const there = await pagesOf(store, plan, 'cursor', undefined)
        expect(numbersOf(there)).toEqual(right)
        expect(there).toHaveLength(Math.max(1, Math.ceil(right.length / limit)))
        for (const { cost, items } of there) {
          expect(cost.complete).toBe(true)
          expect(cost.rowsMatched).toBe(items.length)
        }
        const last = there.at(-1)!
        if (last.previous === undefined) return
        const back = await pagesOf(store, plan, 'previous', last.previous)
        expect([...numbersOf(back.toReversed()), ...last.items.map(numberOf)]).toEqual(right)
      }),
      { numRuns: 600 },
    )
  })

  it('gives the same when a call may read or examine a few rows only', async () => {
    const bounds = fc.record({
      maxRowsRead: fc.integer({ min: 1, max: 12 }),
      maxRowsExamined: fc.integer({ min: 1, max: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(random, bounds, async ({ case: one, all, order, limit, shards }, options) => {
        const store = fill(one, all, shards)
        const plan = planOf(one.asked, { order, limit }, shards)
        const right = expected(
          one,
          all.map(({ now }) => now),
          order,
        )
        const there = await pagesOf(store, plan, 'cursor', undefined, options)
        expect(numbersOf(there)).toEqual(right)
        for (const { cost, items, cursor } of there) {
          expect(cost.complete).toBe(items.length === limit || cursor === undefined)
        }
        const { previous, items } = there.at(-1)!
        if (previous === undefined) return
        const back = await pagesOf(store, plan, 'previous', previous, options)
        expect([...numbersOf(back.toReversed()), ...items.map(numberOf)]).toEqual(right)
      }),
      { numRuns: 600 },
    )
  })
})

describe('an entity that matches all the time', () => {
  const two: readonly Asked[] = [
    { index: byTag, where: { tags: 'a' } },
    { index: byTag, where: { tags: 'b' } },
  ]
  const tags = ['a', 'b']

  it('is found although it moves during the call, wherever it moves to and whenever', async () => {
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
          // Rows of each tag that others lack, so that the two are read in several scans.
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
            // Rows first, then the entity; what it has lost stays for as long as a query may take.
            store.addRows(100, { tags, rank: to })
            store.commit(100, { tags, rank: to })
          }
          const plan = planOf(two, { limit, order: isDown ? 'desc' : 'asc' })
          const { items } = await runQuery(store, plan)
          expect(items.map(numberOf)).toEqual([100])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('is given although its row in one of the indexes is deferred and does not come', async () => {
    const store = severalIndexes(two, 1)
    for (const [number, place] of [
      [1, 1],
      [2, 5],
      [3, 9],
    ] as const) {
      store.addRows(number, { tags, rank: place })
      store.commit(number, { tags, rank: place })
    }
    // It has moved behind the second, and there the first index has a row alone.
    store.commit(1, { tags, rank: 7 })
    store.addRows(1, { tags, rank: 7 }, [0])
    for (const limit of [2, 5]) {
      const pages = await pagesOf(store, planOf(two, { limit }), 'cursor', undefined)
      expect(numbersOf(pages).toSorted()).toEqual([1, 2, 3])
    }
  })
})

describe('what an intersection reads', () => {
  const pair = (
    ofFirst: (number: number) => boolean,
    ofSecond: (number: number) => boolean,
    count: number,
  ) => {
    const asked = [
      { index: userOnly, where: { user: 'a' } },
      { index: tagOnly, where: { tags: 'x' } },
    ]
    const store = severalIndexes(asked, 1)
    for (let number = 0; number < count; number++) {
      const bag = { user: ofFirst(number) ? 'a' : 'b', tags: ofSecond(number) ? ['x'] : [] }
      store.addRows(number, bag)
      store.commit(number, bag)
    }
    return { store, plan: planOf(asked, { limit: 50 }) }
  }

  it('is of one scan each where all rows of a page are common', async () => {
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

  it('is few rows of the long one where the other is short', async () => {
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

  it('skips what lies between two clusters', async () => {
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

  it('is all rows, in ever fewer scans, where they lie between each other', async () => {
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

  it('is of each shard alone where all rows are with their entities, and ends with the first index that does', async () => {
    const asked = [
      { index: userOnly, where: { user: 'a' } },
      { index: tagOnly, where: { tags: 'x' } },
    ]
    const store = severalIndexes(asked, 3)
    const bag = { user: 'a', tags: ['x'] }
    for (let number = 0; number < 30; number++) {
      store.addRows(number, bag)
      store.commit(number, bag)
    }
    const { items, cost } = await runQuery(store, planOf(asked, {}, 3))
    expect(items).toHaveLength(30)
    expect(cost).toMatchObject({ shards: 3, indexReads: 6, rowsRead: 60 })
  })
})

describe('an intersection that cannot be', () => {
  const refused: [string, readonly Asked[], object, RegExp][] = [
    [
      'of other properties behind the values',
      [
        { index: byTag, where: { tags: 'a' } },
        { index: userOnly, where: { user: 'a' } },
      ],
      {},
      /Indexes by_tag and user_only cannot be read together: .* The first has rank integer, the second ids/,
    ],
    [
      'of another direction',
      [
        { index: byTag, where: { tags: 'a' } },
        { index: userDown, where: { user: 'a' } },
      ],
      {},
      /The first has rank integer, the second rank integer desc nulls last/,
    ],
    [
      'of a list',
      [
        { index: byTag, where: { tags: { in: ['a', 'b'] } } },
        { index: byTag, where: { tags: 'a' } },
      ],
      {},
      /Index by_tag got a list of 2 values; an intersection takes one value of each property/,
    ],
    [
      'on all shards, without saying so',
      [
        { index: userOnly, where: { user: 'a' } },
        { index: tagOnly, where: { tags: 'a' } },
      ],
      { scatter: false },
      /Index user_only has its rows on the shards of their entities/,
    ],
    [
      'of a bad order',
      [{ index: userOnly, where: { user: 'a' } }],
      { order: 'up' },
      /Indexes user_only: order has/,
    ],
    ['of a bad limit', [{ index: userOnly, where: { user: 'a' } }], { limit: 0 }, /limit has to be/],
  ]
  it.each(refused)('%s is BAD_QUERY', (_, asked, options, message) => {
    const error = errorOf(() => planOf(asked, options))
    expect(error).toMatchObject({ code: 'BAD_QUERY' })
    expect(error.message).toMatch(message)
  })
})

describe('the cursor of an intersection', () => {
  const asked = (tag: string): readonly Asked[] => [
    { index: byTag, where: { tags: tag } },
    { index: byTag, where: { tags: 'b' } },
  ]
  async function cursorOf(conditions: readonly Asked[]): Promise<string> {
    const store = severalIndexes(conditions, 1)
    for (const number of [1, 2]) {
      store.addRows(number, { tags: ['a', 'b', 'c'], rank: number })
      store.commit(number, { tags: ['a', 'b', 'c'], rank: number })
    }
    const { cursor } = await runQuery(store, planOf(conditions, { limit: 1 }))
    return cursor as string
  }
  const read = (plan: IntersectionPlan | ReturnType<typeof planQuery>, cursor: string) =>
    runQuery(severalIndexes(asked('a'), 1), plan, { cursor })

  it('is good for the same conditions in any order, and for no others', async () => {
    const cursor = await cursorOf(asked('a'))
    await expect(read(planOf(asked('a')), cursor)).resolves.toMatchObject({ items: [] })
    await expect(read(planOf(asked('a').toReversed()), cursor)).resolves.toMatchObject({ items: [] })
    await expect(read(planOf(asked('c')), cursor)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    await expect(read(planOf(asked('a').slice(0, 1)), cursor)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    const query = (index: IndexDefinition) =>
      planQuery({ ...index, generation: 1 }, { tags: 'a' }, { scatter: true }, lastByteRouter(1))
    await expect(read(query(byTag), cursor)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    const single = await cursorOf(asked('a').slice(0, 1))
    await expect(read(query(byTag), single)).rejects.toMatchObject({ code: 'BAD_CURSOR' })
  })
})
