import { beforeEach, describe, expect, it } from 'vitest'
import { idOf, lastBytePlacement, modelStore, type ModelStore } from '../../test/model.ts'
import { defineIndex } from '../definitions/define-index.ts'
import { planQuery } from './plan-query.ts'
import { MAX_LIMIT } from './query-types.ts'
import { runQuery, type RunOptions } from './run-query.ts'

const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const placement = lastBytePlacement(1)
let store: ModelStore
beforeEach(() => {
  store = modelStore(byRank, placement)
})

interface Page {
  readonly ranks: readonly unknown[]
  readonly complete: boolean
}

/** Reads all pages. */
async function pagesOf(limit: number, options: RunOptions = {}): Promise<Page[]> {
  const plan = planQuery({ ...byRank, generation: 1 }, {}, { scatter: true, limit }, placement)
  const pages: Page[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await runQuery(store, plan, { ...options, cursor })
    pages.push({ ranks: page.items.map(({ rank }) => rank), complete: page.cost.complete })
    cursor = page.cursor
    if (pages.length > 20) throw new Error('The pages do not end.')
  }
  return pages
}

describe('entities with deferred rows', () => {
  const BYTES = 10
  beforeEach(() => {
    const [first, large, last] = [idOf(0), idOf(1), idOf(2)]
    for (const rank of [1, 8]) store.addRows(first, { rank })
    store.commit(first, { rank: 6 })
    for (const rank of [2, 8]) store.addRows(large, { rank })
    store.commit(large, { rank: 5, bytes: BYTES })
    for (const [number, rank] of [3, 4].entries()) store.addRows(idOf(3 + number), { rank })
    store.addRows(last, { rank: 9 })
    store.commit(last, { rank: 9 })
  })

  it('entities with deferred rows come at their places, in order, and not again at their lost rows', async () => {
    expect(await pagesOf(3)).toEqual([{ ranks: [5, 6, 9], complete: true }])
  })

  it('an entity with a deferred row can fill a page, and is not on the next one', async () => {
    expect(await pagesOf(1)).toEqual([
      { ranks: [5], complete: true },
      { ranks: [6], complete: true },
      { ranks: [9], complete: true },
    ])
  })

  it('an entity with a deferred row ends a page by its bytes, and the page is complete if it is full', async () => {
    expect(await pagesOf(3, { maxBytes: BYTES })).toEqual([
      { ranks: [5], complete: false },
      { ranks: [6, 9], complete: true },
    ])
    expect((await pagesOf(1, { maxBytes: BYTES }))[0]).toEqual({ ranks: [5], complete: true })
  })
})

describe('a page', () => {
  const fill = (count: number, bytes: number): void => {
    for (let rank = 0; rank < count; rank++) {
      store.addRows(idOf(rank), { rank })
      store.commit(idOf(rank), { rank, bytes })
    }
  }

  it('a page ends with the entity that brings it to 32 MiB', async () => {
    fill(3, 16 * 1024 * 1024)
    expect(await pagesOf(10)).toEqual([
      { ranks: [0, 1], complete: false },
      { ranks: [2], complete: true },
    ])
  })

  it('a page that ends by its bytes has no cursor if nothing follows', async () => {
    fill(2, 16 * 1024 * 1024)
    expect(await pagesOf(10)).toEqual([{ ranks: [0, 1], complete: true }])
  })

  it('a page of the largest limit takes one scan with one more row', async () => {
    fill(MAX_LIMIT, 1)
    const [page, ...others] = await pagesOf(MAX_LIMIT)
    expect(page!.ranks).toHaveLength(MAX_LIMIT)
    expect(others).toEqual([])
    const scans = store.calls.flatMap((call) => ('scan' in call ? [call.scan.limit] : []))
    expect(scans).toEqual([MAX_LIMIT + 1])
  })
})

describe('the size of a scan', () => {
  /** Sizes of the scans over `rows` rows, of which only the first `entities` lead to an entity. */
  async function sizesOf(entities: number, rows: number, options: RunOptions = {}): Promise<number[]> {
    for (let rank = 0; rank < rows; rank++) {
      store.addRows(idOf(rank), { rank })
      if (rank < entities) store.commit(idOf(rank), { rank })
    }
    const plan = planQuery({ ...byRank, generation: 1 }, {}, { scatter: true, limit: 4 }, placement)
    await runQuery(store, plan, options)
    return store.calls.flatMap((call) => ('scan' in call ? [call.scan.limit] : []))
  }

  it('scans grow to 1,000 rows while no row matches', async () => {
    expect(await sizesOf(0, 1_300)).toEqual([5, 25, 150, 900, 1_000])
  })

  it('scans at least double', async () => {
    expect(await sizesOf(3, 100)).toEqual([5, 8, 16, 32, 64])
  })

  it('a scan has at most one row more than the call may examine', async () => {
    expect(await sizesOf(3, 100, { maxRowsExamined: 7 })).toEqual([5, 3])
  })
})

describe('reads of entities', () => {
  const plan = planQuery({ ...byRank, generation: 1 }, {}, { scatter: true, limit: 4 }, placement)
  beforeEach(() => {
    for (let rank = 0; rank < 10; rank++) store.addRows(idOf(rank), { rank })
  })

  it('no entity is read behind the last row that may be examined', async () => {
    const { cost } = await runQuery(store, plan, { maxRowsExamined: 5 })
    expect(cost).toMatchObject({ rowsExamined: 5, entitiesRead: 5, complete: false })
  })

  it('no entity is read if the signal fires during the scan', async () => {
    const controller = new AbortController()
    store.onCall = () => controller.abort()
    await expect(runQuery(store, plan, { signal: controller.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    })
    expect(store.calls).toHaveLength(1)
  })
})
