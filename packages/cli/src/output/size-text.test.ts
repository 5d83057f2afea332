import { expect, test } from 'vitest'
import { growthText, sizeCells } from './size-text.ts'

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
