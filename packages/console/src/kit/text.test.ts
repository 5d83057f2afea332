import { expect, test } from 'vitest'
import { milliseconds } from './text.ts'

test('a duration in milliseconds has fewer digits after the point as it grows, also where rounding makes it longer', () => {
  expect([0, 0.424, 0.994, 0.996, 12.34, 99.94, 99.96, 999.7, 1_234.5].map(milliseconds)).toEqual([
    '0.00 ms',
    '0.42 ms',
    '0.99 ms',
    '1.0 ms',
    '12.3 ms',
    '99.9 ms',
    '100 ms',
    '1,000 ms',
    '1,235 ms',
  ])
})
