import { expect, test } from 'vitest'
import { bytesText, growthText, sizeCells } from './size-text.ts'

test('a size uses the largest unit in which it is at least 1', () => {
  expect([0, 999, 1_000, 65_536, 123_456_789, 7e15].map(bytesText)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.0 kB',
    '65.5 kB',
    '123 MB',
    '7000 TB',
  ])
})

test('growth has a sign, and is unknown before the second note', () => {
  expect([undefined, 0, 2_500_000, -900].map((bytesPerDay) => growthText({ bytesPerDay }))).toEqual([
    '?',
    '+0 bytes a day',
    '+2.5 MB a day',
    '-900 bytes a day',
  ])
})

test('the size of a shard that was not probed is unknown', () => {
  expect(sizeCells([], 'one')).toEqual(['?', '?'])
})
