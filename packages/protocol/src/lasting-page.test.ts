import type { Shard } from '@looseleaf/core'
import type { ChangesRange, UpdatedPlace } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { isEmptyForGood, lastingPage, lastingRows } from './lasting-page.ts'

const RANGE = { from: 5, to: 9 } as unknown as ChangesRange
const placesOf = (...updated: number[]): UpdatedPlace[] =>
  updated.map((time) => ({ updated: time, addedId: 1 }))

/**
 * A shard whose reads of changes answer with these pages, one after the other. `opened` has the number of connections before and after each
 * flush; undefined for a driver that does not count them.
 */
function shardOf(pages: UpdatedPlace[][], opened?: number[]) {
  const calls: unknown[] = []
  const read = (call: string) => async (): Promise<UpdatedPlace[]> => {
    calls.push(call)
    return pages.shift()!
  }
  const entities = {
    async pageOfChanges(...args: unknown[]) {
      calls.push(args)
      return pages.shift()
    },
  }
  const flush = async (options: unknown): Promise<void> => {
    await Promise.resolve()
    calls.push(options)
  }
  const connections = opened && (() => ({ opened: opened.shift() }))
  return { shard: { entities, flush, connections } as unknown as Shard, calls, read }
}

const { signal } = new AbortController()
const FLUSHED = { signal }

test('a page is durable after a flush over the same connection', async () => {
  const page = placesOf(6)
  const { shard, calls, read } = shardOf([page], [1, 1])
  expect(await lastingRows(shard, read('page'), read('again'), { signal })).toBe(page)
  expect(calls).toEqual(['page', FLUSHED])
})

test('a page that was read across a restart is read again', async () => {
  const page = placesOf(6)
  const { shard, calls, read } = shardOf([placesOf(6, 7), placesOf(8), page], [1, 2, 2, 3, 3, 3])
  expect(await lastingRows(shard, read('page'), read('again'), { signal })).toBe(page)
  expect(calls).toEqual(['page', FLUSHED, 'page', FLUSHED, 'page', FLUSHED])
})

test('an empty page needs no flush', async () => {
  const { shard, calls, read } = shardOf([[]], [1, 2])
  expect(await lastingRows(shard, read('page'), read('again'), { signal })).toEqual([])
  expect(calls).toEqual(['page'])
})

test('without a count of connections, a second read shows that no entity is back', async () => {
  const page = placesOf(6, 7)
  const { shard, calls, read } = shardOf([page, placesOf(7)])
  expect(await lastingRows(shard, read('page'), read('again'), { signal })).toBe(page)
  expect(calls).toEqual(['page', FLUSHED, 'again'])
})

test.each([
  ['another time', placesOf(6, 7)],
  ['another row number', [{ updated: 6, addedId: 2 }]],
])('without a count of connections, a page is read again if an entity is back at %s', async (_, back) => {
  const page = placesOf(7)
  const { shard, calls, read } = shardOf([placesOf(6), back, page, page])
  expect(await lastingRows(shard, read('page'), read('again'), { signal })).toBe(page)
  expect(calls).toEqual(['page', FLUSHED, 'again', 'page', FLUSHED, 'again'])
})

test('the second read of a page has its range and limit, and no bodies', async () => {
  const page = placesOf(6)
  const { shard, calls } = shardOf([page, page])
  expect(await lastingPage(shard, RANGE, 3, { signal, maxBody: 70 })).toBe(page)
  expect(calls).toEqual([[RANGE, 3, { signal, maxBody: 70 }], FLUSHED, [RANGE, 3, { signal, maxBody: 0 }]])
})

const READ = [RANGE, 1, { signal, maxBody: 0 }]

test.each<[string, UpdatedPlace[][], number[] | undefined, boolean, unknown[]]>([
  ['has a row', [placesOf(6)], [1, 1], false, [READ]],
  ['is empty before a flush over the same connection', [[]], [1, 1], true, [READ, FLUSHED]],
  ['is empty before a restart', [[]], [1, 2], false, [READ, FLUSHED]],
  ['is empty before and after a flush', [[], []], undefined, true, [READ, FLUSHED, READ]],
  ['has a row after a flush', [[], placesOf(6)], undefined, false, [READ, FLUSHED, READ]],
])(
  'a range that %s is empty for good only if no crash can fill it',
  async (_, pages, opened, isEmpty, sent) => {
    const { shard, calls } = shardOf(pages, opened)
    expect(await isEmptyForGood(shard, RANGE, { signal })).toBe(isEmpty)
    expect(calls).toEqual(sent)
  },
)
