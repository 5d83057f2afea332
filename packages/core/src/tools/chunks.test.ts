import { expect, test } from 'vitest'
import { chunks } from './chunks.ts'

test('the chunks of a list make up the list', () => {
  expect([...chunks([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]])
  expect([...chunks([1, 2], 2)]).toEqual([[1, 2]])
  expect([...chunks([], 2)]).toEqual([])
})
