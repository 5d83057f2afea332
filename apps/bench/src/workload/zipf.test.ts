import { createRandom } from '@looseleaf-tooling/kit/random'
import { expect, test } from 'vitest'
import { zipf } from './zipf.ts'

test('a Zipf choice returns 0 twice as often as 1, and returns every number', () => {
  const pick = zipf(10)
  const random = createRandom(1)
  const counts = Array.from({ length: 10 }, () => 0)
  for (let i = 0; i < 20_000; i++) counts[pick(random)]!++
  expect(Math.min(...counts)).toBeGreaterThan(0)
  expect((counts[0] as number) / (counts[1] as number)).toBeCloseTo(2, 0)
  expect(counts).toEqual(counts.toSorted((a, b) => b - a))
})
