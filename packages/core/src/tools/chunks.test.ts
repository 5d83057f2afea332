import { expect, test } from 'vitest'
import { chunks, chunksBySize } from './chunks.ts'

test('the chunks of a list make up the list', () => {
  expect([...chunks([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]])
  expect([...chunks([1, 2], 2)]).toEqual([[1, 2]])
  expect([...chunks([], 2)]).toEqual([])
})

test.each([
  [
    [3, 3, 4, 1],
    [[3, 3, 4], [1]],
  ],
  [
    [1, 11, 0, 2],
    [[1], [11], [0, 2]],
  ],
  [
    [0, 10, 1],
    [[0, 10], [1]],
  ],
  [
    [1, 1, 1, 1, 9, 1],
    [[1, 1, 1], [1, 9], [1]],
  ],
  [[12], [[12]]],
  [[], []],
])('parts of %j have up to ten in all, or one number, and up to three numbers', (numbers, parts) => {
  expect([...chunksBySize(numbers, (number) => number, 10, 3)]).toEqual(parts)
})
