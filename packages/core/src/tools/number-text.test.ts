import { expect, test } from 'vitest'
import { bytesText, counted, durationText } from './number-text.ts'

test.each([
  [0, '0 s'],
  [1_499, '1 s'],
  [99_000, '99 s'],
  [100_000, '2 min'],
  [99 * 60_000, '99 min'],
  [100 * 60_000, '2 h'],
  [47 * 3_600_000, '47 h'],
  [48 * 3_600_000, '2 days'],
])('%i ms become %s', (milliseconds, text) => {
  expect(durationText(milliseconds)).toBe(text)
})

test('a number has separators, and the noun that fits it', () => {
  expect([0, 1, 1_234].map((count) => counted(count, 'row'))).toEqual(['0 rows', '1 row', '1,234 rows'])
  expect(counted(2, 'entity', 'entities')).toBe('2 entities')
})

test('a size uses the largest unit in which it is at least 1', () => {
  expect([0, 1, 999, 1_000, 65_536, 123_456_789, 7e15].map(bytesText)).toEqual([
    '0 bytes',
    '1 byte',
    '999 bytes',
    '1.0 kB',
    '65.5 kB',
    '123 MB',
    '7000 TB',
  ])
})
