import { expect, test } from 'vitest'
import { readSample } from '../sample/read-sample.ts'
import { createDice } from './dice.ts'
import { writeTimeline } from './timeline.ts'

const rates = { item: 2, post: 1, comment: 4, like: 8 }

test('a script has its rates, is in order, and is the same for the same seed', async () => {
  const sample = await readSample()
  const options = { seed: 7, seconds: 300, people: 40, sources: 60, rates }
  const acts = writeTimeline(sample, options)
  expect(acts).toEqual(writeTimeline(sample, options))
  expect(acts).not.toEqual(writeTimeline(sample, { ...options, seed: 8 }))
  expect(acts.map(({ at }) => at)).toEqual(acts.map(({ at }) => at).toSorted((a, b) => a - b))
  for (const [kind, rate] of Object.entries(rates)) {
    const count = acts.filter((act) => act.kind === kind).length
    // Within five standard deviations.
    expect(Math.abs(count - rate * 300)).toBeLessThan(5 * Math.sqrt(rate * 300))
  }
})

test('low numbers come first, and none is out of bounds', () => {
  const dice = createDice(1)
  const counts = Array.from({ length: 10 }, () => 0)
  for (let i = 0; i < 10_000; i++) counts[dice.low(10)]!++
  expect(counts[0]).toBeGreaterThan(counts[1]! * 1.4)
  expect(counts[0]).toBeGreaterThan(counts[9]! * 4)
  expect(Math.min(...counts)).toBeGreaterThan(0)
})
