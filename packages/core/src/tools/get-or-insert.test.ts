import { expect, test } from 'vitest'
import { getOrInsert } from './get-or-insert.ts'

test('the value of a key is made once', () => {
  const map = new Map([['a', 1]])
  const made: string[] = []
  const make = (key: string): number => made.push(key) + 1
  expect(['a', 'b', 'b', 'c'].map((key) => getOrInsert(map, key, make))).toEqual([1, 2, 2, 3])
  expect(made).toEqual(['b', 'c'])
  expect([...map]).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ])
})
