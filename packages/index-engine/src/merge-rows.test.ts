import { expect, it } from 'vitest'
import { idOf } from '../test/model.ts'
import { mergeRows } from './merge-rows.ts'

const rowOf = (rank: number) => ({ key: [BigInt(rank)], entityId: idOf(rank), version: 1 })

it('a row may come that is in hand, or behind what was fetched, as long as something follows there', async () => {
  const pages = [[1, 4], [7]].map((ranks) => ranks.map(rowOf))
  const rows = mergeRows([3], 'asc', undefined, async () => pages.shift() ?? [])
  const mayCome = (rank: number): boolean => rows.mayCome(3, rowOf(rank))
  expect(mayCome(1)).toBe(true)
  expect(await rows.take(1)).toEqual([rowOf(1)])
  // One was asked for and two came.
  expect([1, 3, 4, 5].map(mayCome)).toEqual([false, false, true, true])
  await rows.take(2)
  expect([4, 7, 8].map(mayCome)).toEqual([false, false, false])
})
