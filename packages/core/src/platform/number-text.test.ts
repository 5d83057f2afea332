import { expect, test } from 'vitest'
import { bytesText, counted, decimal, durationText } from './number-text.ts'

test.each([
  [0, '0 s'],
  [499, '0 s'],
  [1_499, '1 s'],
  [99_499, '99 s'],
  [99_500, '2 min'],
  [99 * 60_000 + 29_999, '99 min'],
  [99 * 60_000 + 30_000, '2 h'],
  [47 * 3_600_000 + 1_799_999, '47 h'],
  [47 * 3_600_000 + 1_800_000, '2 days'],
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
    '7,000 TB',
  ])
})

test.each([
  [999.4, '999 bytes'],
  [999.5, '1.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [999_999, '1.0 MB'],
  [999_999_999, '1.0 GB'],
  [999_500_000_000_000, '1,000 TB'],
])('%d bytes are rounded to %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

test('a decimal has one digit after the point as long as it is rounded to less than 100', () => {
  expect([0, 0.05, 9.96, 99.94, 99.95, 999.5, 1_234.5].map(decimal)).toEqual([
    '0.0',
    '0.1',
    '10.0',
    '99.9',
    '100',
    '1,000',
    '1,235',
  ])
})
