import { expect, test } from 'vitest'
import { createRandom } from './random.ts'

const DRAWS = 20_000

test('a seed repeats its numbers, and the next seed gives others', () => {
  const numbers = (seed: number): number[] => Array.from({ length: 50 }, createRandom(seed).next)
  expect(numbers(7)).toEqual(numbers(7))
  expect(numbers(7).some((number) => numbers(8).includes(number))).toBe(false)
})

test('numbers are spread evenly from 0 up to, not including, the end', () => {
  const random = createRandom(1)
  const seen = Array.from({ length: 10 }, () => 0)
  for (let i = 0; i < DRAWS; i++) seen[random.below(10)]!++
  expect(seen).toHaveLength(10)
  for (const count of seen) expect(Math.abs(count / DRAWS - 0.1)).toBeLessThan(0.01)
})

test('a chance comes true as often as it says', () => {
  const random = createRandom(2)
  const hits = Array.from({ length: DRAWS }, () => random.chance(0.25)).filter(Boolean).length
  expect(Math.abs(hits / DRAWS - 0.25)).toBeLessThan(0.02)
  expect(random.chance(0)).toBe(false)
  expect(random.chance(1)).toBe(true)
})

test('a pick can be any item, and throws if there is none', () => {
  const random = createRandom(3)
  expect(new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c'])))).toEqual(
    new Set(['a', 'b', 'c']),
  )
  expect(() => random.pick([])).toThrow(RangeError)
})

test('UUIDs are of version 4 and differ', () => {
  const random = createRandom(4)
  const uuids = Array.from({ length: 100 }, random.uuid)
  for (const uuid of uuids)
    expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(new Set(uuids).size).toBe(100)
})
