import type { KeyRange } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { idOf } from '../test/model.ts'
import type { RowPlace } from './cursor.ts'
import { mergeRows } from './merge-rows.ts'
import type { FetchRows } from './row-source.ts'

const rowOf = (rank: number) => ({ key: [BigInt(rank)], entityId: idOf(rank), version: 1 })

it('a row may come that is in hand, or behind what was fetched, as long as something follows there', async () => {
  const pages = [[1, 4], [7]].map((ranks) => ranks.map(rowOf))
  const rows = mergeRows(
    { ranges: [{ range: { prefix: [] }, shards: [3] }], directions: [1] },
    'asc',
    undefined,
    async () => pages.shift() ?? [],
  )
  const mayCome = (rank: number): boolean => rows.mayCome(3, rowOf(rank))
  expect(mayCome(1)).toBe(true)
  expect(await rows.take(1)).toEqual([rowOf(1)])
  // One was asked for and two came.
  expect([1, 3, 4, 5].map(mayCome)).toEqual([false, false, true, true])
  await rows.take(2)
  expect([4, 7, 8].map(mayCome)).toEqual([false, false, false])
})

describe('ranges', () => {
  /** Rows of some ranges, each on a shard of its own; `asked` tells which were asked, in how many at once. */
  function rangesOf(
    rowsIn: readonly number[],
    order: 'asc' | 'desc',
    start?: RowPlace & { inclusive: boolean },
  ) {
    const ranges = rowsIn.map((_, i) => ({ range: { prefix: [BigInt(i)] }, shards: [i] }))
    const asked: number[][] = []
    let isSame = false
    const fetch: FetchRows = async ({ prefix: [value] }: KeyRange, shard, after, size) => {
      if (!isSame) asked.push([])
      isSame = true
      asked.at(-1)?.push(shard)
      await Promise.resolve()
      isSame = false
      const all = Array.from({ length: rowsIn[shard] as number }, (_, rank) => rowIn(Number(value), rank))
      const sorted = order === 'asc' ? all : all.toReversed()
      const from = after === undefined ? 0 : sorted.findIndex((row) => row.key[1] === after.key[1]) + 1
      return sorted.slice(from, from + size)
    }
    return { rows: mergeRows({ ranges, directions: [1, 1] }, order, start, fetch), asked }
  }
  const rowIn = (range: number, rank: number) => ({
    key: [BigInt(range), BigInt(rank)],
    entityId: idOf(rank),
  })
  const keysOf = (rows: readonly RowPlace[]): number[][] => rows.map(({ key }) => key.map(Number))

  it('are asked one after the other, and no further than rows are wanted', async () => {
    const { rows, asked } = rangesOf(
      Array.from({ length: 100 }, () => 30),
      'asc',
    )
    expect(keysOf(await rows.take(20))).toEqual(Array.from({ length: 20 }, (_, rank) => [0, rank]))
    expect(asked).toEqual([[0]])
    await rows.take(11)
    expect(asked.flat()).toEqual([0, 0, 1, 2])
  })

  it('are asked together in ever greater numbers while they give less than is wanted', async () => {
    const { rows, asked } = rangesOf(
      Array.from({ length: 100 }, () => 0),
      'desc',
    )
    expect(await rows.take(20)).toEqual([])
    expect(asked.map(({ length }) => length)).toEqual([1, 2, 4, 8, 16, 16, 16, 16, 16, 5])
    expect(asked.flat()).toEqual(Array.from({ length: 100 }, (_, i) => 99 - i))
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
  ] as const)('before the one of the start are not asked, %s', async (order, behind) => {
    const start = rowIn(1, 0)
    for (const inclusive of [false, true]) {
      const { rows, asked } = rangesOf([2, 2, 2], order, { ...start, inclusive })
      const all = [...(await rows.take(2)), ...(await rows.take(9))]
      expect(keysOf(all)).toEqual([...(inclusive ? [[1, 0]] : []), ...behind])
      expect(asked.flat()).not.toContain(order === 'asc' ? 0 : 2)
    }
  })

  it('may still give rows until they are read, each on the shard that has it', async () => {
    const { rows } = rangesOf([2, 2, 2, 2], 'asc')
    await rows.take(1)
    const mayCome = (shard: number, range: number, rank: number): boolean =>
      rows.mayCome(shard, rowIn(range, rank))
    expect([mayCome(0, 0, 0), mayCome(0, 0, 1)]).toEqual([false, true])
    expect([mayCome(1, 1, 0), mayCome(3, 3, 5)]).toEqual([true, true])
    // Of no range, and on a shard that is not asked for it.
    expect([mayCome(4, 4, 0), mayCome(0, 1, 0)]).toEqual([false, false])
    // The second and the third range are read together, to their ends.
    await rows.take(3)
    expect([mayCome(1, 1, 1), mayCome(1, 1, 7)]).toEqual([false, false])
    expect([mayCome(2, 2, 1), mayCome(2, 2, 7), mayCome(3, 3, 5)]).toEqual([true, false, true])
  })
})
