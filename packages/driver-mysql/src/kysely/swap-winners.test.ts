import { expect, test } from 'vitest'
import { swapWinners } from './swap-winners.ts'

const [ours, lower, none, greater] = [
  { version: 20, found: 20 },
  { version: 20, found: 15 },
  { version: 20, found: 0 },
  { version: 20, found: 25 },
]

test('a row that has the version that was written was changed, and one with a lower version or none was not', () => {
  expect(swapWinners([ours, lower, none], 1)).toEqual([true, false, false])
})

test('a row with a greater version was changed when the number says that all such rows were', () => {
  expect(swapWinners([ours, greater, lower, greater], 3)).toEqual([true, true, false, true])
})

test('a row with a greater version was not changed when the number is met without it', () => {
  expect(swapWinners([ours, greater, greater], 1)).toEqual([true, false, false])
})

test('it is not guessed which of two such rows was changed', () => {
  expect(swapWinners([ours, greater, greater], 2)).toBeUndefined()
  expect(swapWinners([greater, greater], 1)).toBeUndefined()
})

test('a number that cannot be is not explained', () => {
  expect(swapWinners([ours, ours], 1)).toBeUndefined()
  expect(swapWinners([lower], 1)).toBeUndefined()
})
