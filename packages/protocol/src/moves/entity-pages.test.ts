import type { UpdatedPlace } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { pagesByAdded, pagesOfRange, type PageRange } from './entity-pages.ts'
import type { MoveWork } from './move-work.ts'

const rowsUpTo = (count: number): readonly UpdatedPlace[] =>
  Array.from({ length: count }, (_, i) => ({ updated: 100 + i, addedId: i + 1 }))

interface Reading {
  readonly work: MoveWork
  /** Places and limits of the pages, and rows for which the rate is waited for, in their order. */
  readonly calls: string[]
}

/** Work on a move from a shard with so many entities. */
function workWith(count: number, maxPage: number): Reading {
  const calls: string[] = []
  const entities = {
    async pageByAdded(after: number, limit: number) {
      calls.push(`${limit} after ${after}`)
      return rowsUpTo(count)
        .filter(({ addedId }) => addedId > after)
        .slice(0, limit)
    },
  }
  const work = {
    context: { driver: { shards: [{ entities }] } },
    move: { from: 0 },
    throttle: {
      maxPage,
      send: (_: number, __: unknown, statement: () => Promise<unknown>) => statement(),
      take: async (_: number, rows: number) => void calls.push(`take ${rows}`),
    },
  }
  return { work: work as unknown as MoveWork, calls }
}

test.each([
  [7, 0, [3, 3, 1], ['3 after 0', 'take 3', '3 after 3', 'take 3', '3 after 6', 'take 1']],
  [6, 3, [3], ['3 after 3', 'take 3', '3 after 6']],
  [0, 0, [], ['3 after 0']],
])('%i entities after place %i come in pages until one is not full', async (count, after, lengths, sent) => {
  const { work, calls } = workWith(count, 3)
  const pages = await Array.fromAsync(pagesByAdded(work, 0, after))
  expect(pages.map(({ length }) => length)).toEqual(lengths)
  expect(calls).toEqual(sent)
})

test('a page has 2,000 entities without a limit of the rate', async () => {
  const { work, calls } = workWith(1, 1_000_000)
  await Array.fromAsync(pagesByAdded(work, 0))
  expect(calls).toEqual(['2000 after 0', 'take 1'])
})

test.each([
  [5, [2, 2, 1], 3],
  [4, [2, 2], 3],
  [0, [], 1],
])('a range of %i rows comes in pages until one is not full', async (count, lengths, reads) => {
  const { work, calls } = workWith(0, 3)
  const ranges: PageRange[] = []
  const read = async (range: PageRange): Promise<readonly UpdatedPlace[]> => {
    ranges.push(range)
    return rowsUpTo(count)
      .filter(({ addedId }) => addedId > range.after.addedId)
      .slice(0, 2)
  }
  const after = { updated: 7, addedId: 0 }
  const pages = await Array.fromAsync(pagesOfRange(work, { after, until: 500 }, 2, read))
  expect(pages.map(({ rows }) => rows.length)).toEqual(lengths)
  // Each page begins after the last row of the one before it.
  expect(ranges).toEqual(
    [after, ...pages.map(({ place }) => place)]
      .slice(0, reads)
      .map((place) => ({ after: place, until: 500 })),
  )
  expect(pages.map(({ place }) => place)).toEqual(pages.map(({ rows }) => rows.at(-1)))
  expect(calls).toEqual(lengths.map((length) => `take ${length}`))
})
