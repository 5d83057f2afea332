import type { KeyRange } from '@looseleaf/core/internal'
import { describe, expect, it } from 'vitest'
import { idOf } from '../../test/model.ts'
import type { RowPlace } from './cursor.ts'
import { mergeRows } from './merge-rows.ts'
import type { FetchRows } from './row-source.ts'

const rowOf = (rank: number) => ({ key: [BigInt(rank)], entityId: idOf(rank), version: 1 })

it('mayCome is true for fetched rows and for places behind them, until the range has ended', async () => {
  const pages = [[1, 4], [7]].map((ranks) => ranks.map(rowOf))
  const rows = mergeRows(
    { ranges: [{ range: { prefix: [] }, shards: [3] }], directions: [1], shardOf: () => 3 },
    'asc',
    undefined,
    async () => pages.shift() ?? [],
  )
  const mayCome = (rank: number): boolean => rows.mayCome(rowOf(rank))
  expect(mayCome(1)).toBe(true)
  expect(await rows.take(1)).toEqual([rowOf(1)])
  // The fetch returned two rows.
  expect([1, 3, 4, 5].map(mayCome)).toEqual([false, false, true, true])
  await rows.take(2)
  expect([4, 7, 8].map(mayCome)).toEqual([false, false, false])
})

describe('ranges', () => {
  /** Merges ranges, each on a shard of its own. `scans` has the shards of the scans that began together. */
  function rangesOf(
    rowsIn: readonly number[],
    order: 'asc' | 'desc',
    start?: RowPlace & { inclusive: boolean },
  ) {
    const ranges = rowsIn.map((_, i) => ({ range: { prefix: [BigInt(i)] }, shards: [i] }))
    const scans: number[][] = []
    let isSame = false
    const fetch: FetchRows = async ({ prefix: [value] }: KeyRange, shard, after, size) => {
      if (!isSame) scans.push([])
      isSame = true
      scans.at(-1)?.push(shard)
      await Promise.resolve()
      isSame = false
      const all = Array.from({ length: rowsIn[shard] as number }, (_, rank) => rowIn(Number(value), rank))
      const sorted = order === 'asc' ? all : all.toReversed()
      const from = after === undefined ? 0 : sorted.findIndex((row) => row.key[1] === after.key[1]) + 1
      return sorted.slice(from, from + size)
    }
    const on = { shard: 0 }
    const rows = mergeRows({ ranges, directions: [1, 1], shardOf: () => on.shard }, order, start, fetch)
    return { rows, scans, on }
  }
  const rowIn = (range: number, rank: number) => ({
    key: [BigInt(range), BigInt(rank)],
    entityId: idOf(rank),
  })
  const keysOf = (rows: readonly RowPlace[]): number[][] => rows.map(({ key }) => key.map(Number))

  it('ranges are scanned one after the other, and no further than rows are wanted', async () => {
    const { rows, scans } = rangesOf(
      Array.from({ length: 100 }, () => 30),
      'asc',
    )
    expect(keysOf(await rows.take(20))).toEqual(Array.from({ length: 20 }, (_, rank) => [0, rank]))
    expect(scans).toEqual([[0]])
    await rows.take(11)
    expect(scans.flat()).toEqual([0, 0, 1, 2])
  })

  it('ranges are scanned together in growing numbers while they have too few rows', async () => {
    const { rows, scans } = rangesOf(
      Array.from({ length: 100 }, () => 0),
      'desc',
    )
    expect(await rows.take(20)).toEqual([])
    expect(scans.map(({ length }) => length)).toEqual([1, 2, 4, 8, 16, 16, 16, 16, 16, 5])
    expect(scans.flat()).toEqual(Array.from({ length: 100 }, (_, i) => 99 - i))
  })

  it.each([
    [
      'asc',
      [
        [1, 1],
        [2, 0],
        [2, 1],
      ],
    ],
    [
      'desc',
      [
        [0, 1],
        [0, 0],
      ],
    ],
  ] as const)('ranges before the start are not scanned, %s', async (order, behind) => {
    const start = rowIn(1, 0)
    for (const inclusive of [false, true]) {
      const { rows, scans } = rangesOf([2, 2, 2], order, { ...start, inclusive })
      const all = [...(await rows.take(2)), ...(await rows.take(9))]
      expect(keysOf(all)).toEqual([...(inclusive ? [[1, 0]] : []), ...behind])
      expect(scans.flat()).not.toContain(order === 'asc' ? 0 : 2)
    }
  })

  it('mayCome is true until a range is read, on its own shard only', async () => {
    const { rows, on } = rangesOf([2, 2, 2, 2], 'asc')
    await rows.take(1)
    const mayCome = (shard: number, range: number, rank: number): boolean => {
      on.shard = shard
      return rows.mayCome(rowIn(range, rank))
    }
    expect([mayCome(0, 0, 0), mayCome(0, 0, 1)]).toEqual([false, true])
    expect([mayCome(1, 1, 0), mayCome(3, 3, 5)]).toEqual([true, true])
    // A place in no range, and a place on a shard without its range.
    expect([mayCome(4, 4, 0), mayCome(0, 1, 0)]).toEqual([false, false])
    // The second and the third range are read together, to their ends.
    await rows.take(3)
    expect([mayCome(1, 1, 1), mayCome(1, 1, 7)]).toEqual([false, false])
    expect([mayCome(2, 2, 1), mayCome(2, 2, 7), mayCome(3, 3, 5)]).toEqual([true, false, true])
  })
})
