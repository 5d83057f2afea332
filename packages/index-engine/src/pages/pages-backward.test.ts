import type { Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { idOf, type ModelStore } from '../../test/model.ts'
import { fill, moveDuringCalls, numberOf, pagesFrom, pagesOf, plan, rankMoves } from '../../test/pages.ts'
import { defineIndex } from '../definitions/define-index.ts'
import type { QueryPage } from './query-types.ts'
import { runQuery, type RunOptions } from './run-query.ts'

const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const byTags = defineIndex('by_tags', { properties: { tags: 'string[]' }, shardOn: 'id' })

const stored = (bag: Bag): { now: Bag; old: Bag[] } => ({ now: bag, old: [] })
const deleted = (...old: Bag[]): { now: undefined; old: Bag[] } => ({ now: undefined, old })
const ranks = (...all: number[]): { now: Bag; old: Bag[] }[] => all.map((rank) => stored({ rank }))

/** Returns the cursor of the page before the last one. */
async function beforeLast(store: ModelStore, limit: number): Promise<string> {
  const { previous } = (await pagesOf(store, plan(byRank, {}, { limit }))).at(-1) as QueryPage
  return previous as string
}

const numbersOn = ({ items }: QueryPage): number[] => items.map(numberOf)

describe('a page backward', () => {
  it('a backward page takes one scan and one read without lost rows, and has both cursors', async () => {
    const store = fill(byRank, ranks(...Array.from({ length: 100 }, (_, i) => i)), 1)
    const query = plan(byRank, {}, { limit: 20 })
    const forward = await pagesOf(store, query)
    store.calls.length = 0
    const { items, cost, cursor, previous } = await runQuery(store, query, { cursor: forward[3]?.previous })
    expect(items).toEqual(forward[2]?.items)
    expect([cursor, previous]).toEqual([forward[2]?.cursor, expect.any(String)])
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
    expect(store.calls[0]).toMatchObject({ scan: { order: 'desc' } })
  })

  it('a backward page may have another limit, and its cursors continue at its ends', async () => {
    const store = fill(byRank, ranks(0, 1, 2, 3, 4, 5, 6), 1)
    const cursor = await beforeLast(store, 6)
    const pages: QueryPage[] = []
    for (let from: string | undefined = cursor; from !== undefined; from = pages.at(-1)?.previous) {
      pages.push(await runQuery(store, plan(byRank, {}, { limit: 4 }), { cursor: from }))
    }
    expect(pages.map(numbersOn)).toEqual([
      [2, 3, 4, 5],
      [0, 1],
    ])
    const next = await runQuery(store, plan(byRank, {}, { limit: 3 }), { cursor: pages[1]?.cursor })
    expect(numbersOn(next)).toEqual([2, 3, 4])
    expect(numbersOn(await runQuery(store, plan(byRank, {}, {}), { cursor: next.previous }))).toEqual([0, 1])
  })

  it('a backward page has entities that were written before its cut since then, and no deleted ones', async () => {
    const store = fill(byRank, ranks(0, 10, 20, 30, 40), 1)
    const cursor = await beforeLast(store, 2)
    // The last entity of the page, whose row is the place of the cursor.
    store.removeRows(idOf(3), { rank: 30 })
    store.commit(idOf(3), undefined)
    store.addRows(idOf(9), { rank: 25 })
    store.commit(idOf(9), { rank: 25 })
    const page = await runQuery(store, plan(byRank, {}, { limit: 2 }), { cursor })
    expect(numbersOn(page)).toEqual([2, 9])
    expect(page.previous).toBeDefined()
  })

  it('a backward page has the entity at its cut although the row is missing', async () => {
    const store = fill(byRank, ranks(0, 1, 2), 1)
    const cursor = await beforeLast(store, 2)
    store.removeRows(idOf(1), { rank: 1 })
    expect(numbersOn(await runQuery(store, plan(byRank, {}, {}), { cursor }))).toEqual([0, 1])
  })

  it('a backward page is empty and has no previous if all of its entities were deleted', async () => {
    const store = fill(byRank, ranks(0, 1, 2), 1)
    const cursor = await beforeLast(store, 2)
    for (const number of [0, 1]) store.commit(idOf(number), undefined)
    const page = await runQuery(store, plan(byRank, {}, {}), { cursor })
    expect(page).toMatchObject({ items: [], cost: { complete: true } })
    expect(page.previous).toBeUndefined()
    expect(numbersOn(await runQuery(store, plan(byRank, {}, {}), { cursor: page.cursor }))).toEqual([2])
  })

  it('a backward page leaves out an entity that has moved behind its cut', async () => {
    const store = fill(byRank, ranks(0, 1, 2, 3), 1)
    const cursor = await beforeLast(store, 2)
    store.addRows(idOf(0), { rank: 9 })
    store.commit(idOf(0), { rank: 9 })
    const page = await runQuery(store, plan(byRank, {}, { limit: 2 }), { cursor })
    expect(numbersOn(page)).toEqual([1])
    expect(page.cost.rowsDiscarded).toBe(1)
    const next = await runQuery(store, plan(byRank, {}, { limit: 9 }), { cursor: page.cursor })
    expect(numbersOn(next)).toEqual([2, 3, 0])
  })

  it('a backward page with too many rows is not complete, and has a previous', async () => {
    const store = fill(byRank, [stored({ rank: 0 }), deleted(...[1, 2, 3, 4].map((rank) => ({ rank })))], 1)
    store.addRows(idOf(2), { rank: 5 })
    store.commit(idOf(2), { rank: 5 })
    store.addRows(idOf(3), { rank: 6 })
    store.commit(idOf(3), { rank: 6 })
    const query = plan(byRank, {}, { limit: 2 })
    const options: RunOptions = { maxRowsExamined: 3 }
    const last = (await pagesOf(store, query)).at(-1) as QueryPage
    const pages = await pagesFrom(store, query, last, 'previous', options)
    expect(pages.map((page) => [numbersOn(page), page.cost.complete])).toEqual([
      [[2], false],
      [[0], true],
    ])
  })
})

describe('an entity that is written while a page is read backward', () => {
  it('an entity that moves in the direction of reading is not missed on one shard, backward', async () => {
    await fc.assert(
      fc.asyncProperty(rankMoves(12), fc.integer({ min: 1, max: 6 }), async (moves, limit) => {
        const store = fill(byRank, [...ranks(...moves.map(({ from }) => from)), stored({ rank: 99 })], 1)
        // The last page begins behind all moving entities.
        const all = await runQuery(store, plan(byRank, {}, { limit: moves.length }))
        const last = await runQuery(store, plan(byRank, {}, {}), { cursor: all.cursor })
        expect(numbersOn(last)).toEqual([moves.length])
        moveDuringCalls(store, moves, -1)
        const pages = await pagesFrom(store, plan(byRank, {}, { limit }), last, 'previous')
        const found = pages.flatMap(numbersOn)
        expect([...new Set(found)].toSorted((a, b) => a - b)).toEqual([...moves.keys()])
        for (const page of pages) expect(new Set(numbersOn(page)).size).toBe(page.items.length)
      }),
      { numRuns: runsOf(500) },
    )
  })

  it.each([2, 3])(
    'an entity with a deferred row comes at its place, backward, on pages of %i',
    async (limit) => {
      const store = fill(byRank, [deleted({ rank: 4 }), deleted({ rank: 6 }), ...ranks(9, 8)], 1)
      store.addRows(idOf(4), { rank: 7 })
      store.commit(idOf(4), { rank: 5 })
      const last = (await pagesOf(store, plan(byRank, {}, { limit: 1 }))).at(-1) as QueryPage
      expect(numbersOn(last)).toEqual([2])
      const found = await pagesFrom(store, plan(byRank, {}, { limit }), last, 'previous')
      expect(found.map(numbersOn)).toEqual([[4, 3]])
    },
  )
})

describe('an entity with several rows', () => {
  const letters = (text: string): { now: Bag; old: Bag[] } => stored({ tags: [...text] })

  it('an entity stands at the first of its rows, also on a backward page', async () => {
    const store = fill(byTags, [letters('ad'), letters('bf'), letters('ce'), letters('e')], 1)
    const query = plan(byTags, {}, { limit: 1 })
    const forward = await pagesOf(store, query)
    expect(forward.map(numbersOn)).toEqual([[0], [1], [2], [3]])
    const backward = await pagesFrom(store, query, forward[3] as QueryPage, 'previous')
    expect(backward.map(numbersOn)).toEqual([[2], [1], [0]])
    const [page] = await pagesFrom(store, plan(byTags, {}, { limit: 9 }), forward[3] as QueryPage, 'previous')
    expect(page?.items.map(numberOf)).toEqual([0, 1, 2])
    expect(page?.cost).toMatchObject({ rowsExamined: 5, entitiesRead: 3 })
  })

  /** Reads 100 entities of 10 bytes backward, from the page of one more entity behind them. */
  async function pagesOfTens(tagsOf: (text: string) => string[], maxBytes: number): Promise<QueryPage[]> {
    const all = Array.from({ length: 100 }, (_, i) => stored({ tags: tagsOf(`${1000 + i}`), bytes: 10 }))
    const store = fill(byTags, [...all, stored({ tags: ['z'] })], 1)
    const query = plan(byTags, {}, { limit: 100 })
    const last = (await pagesOf(store, query)).at(-1) as QueryPage
    expect(numbersOn(last)).toEqual([100])
    const pages = await pagesFrom(store, query, last, 'previous', { maxBytes })
    expect(pages.toReversed().flatMap(numbersOn)).toEqual(Array.from({ length: 100 }, (_, i) => i))
    for (const { cost, previous } of pages) expect(cost.complete).toBe(previous === undefined)
    return pages
  }
  const sizesOf = (pages: readonly QueryPage[]): number[] => pages.map(({ items }) => items.length)
  const times = (count: number, size: number): number[] => Array.from({ length: count }, () => size)

  it('a postponed entity counts with its bytes, so that memory is bounded', async () => {
    const pages = await pagesOfTens((text) => [`a${text}`, `b${text}`], 100)
    expect(sizesOf(pages)).toEqual([...times(10, 0), ...times(10, 10)])
    for (const { cost } of pages.slice(0, -1)) expect(cost.rowsExamined).toBe(10)
  })

  it('a postponed entity counts once, however many of its rows are examined', async () => {
    const pages = await pagesOfTens((text) => [`a${text}`, `b${text}`, `b${text}1`], 100)
    expect(pages[0]?.cost.rowsExamined).toBe(19)
  })

  it('a postponed entity does not count again when it is taken', async () => {
    const pages = await pagesOfTens((text) => [`a${text}`, `a${text}1`], 100)
    // The tenth entity is postponed, and comes on the next page.
    expect(pages[0]?.items).toHaveLength(9)
    expect(pages[1]?.items).toHaveLength(9)
  })
})
