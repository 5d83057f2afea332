import { expect, test } from 'vitest'
import { groupsOf } from './hand-over.ts'

test('buckets are cut into groups of one size in their order', () => {
  expect(groupsOf([1, 2, 3, 7, 8], 2)).toEqual(['1-2', '3,7', '8'])
  expect(groupsOf([1, 2], 2)).toEqual(['1-2'])
  expect(groupsOf([], 2)).toEqual([])
})
