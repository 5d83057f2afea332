import { expect, test } from 'vitest'
import { durationText } from './duration-text.ts'

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
