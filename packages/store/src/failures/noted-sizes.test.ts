import { expect, test } from 'vitest'
import { growthOf, sizesFromText, sizesToText } from './noted-sizes.ts'

const HOUR = 3_600_000

test('sizes are noted once an hour, and kept for two days', () => {
  let text = ''
  for (let minute = 0; minute < 100 * 60; minute += 20)
    text = sizesToText(sizesFromText(text), { at: minute * 60_000, bytes: minute })
  const sizes = sizesFromText(text)
  expect(sizes).toHaveLength(48)
  expect(sizes.every(({ at }, i) => i === 0 || at - sizes[i - 1]!.at === HOUR)).toBe(true)
})

test('growth is per day since the oldest size, if that is at least an hour old', () => {
  const first = { at: 0, bytes: 1_000 }
  expect(growthOf([], first)).toBeUndefined()
  expect(growthOf([first], { at: HOUR - 1, bytes: 5_000 })).toBeUndefined()
  expect(growthOf([first], { at: 6 * HOUR, bytes: 2_000 })).toBe(4_000)
  expect(growthOf([first], { at: 12 * HOUR, bytes: 500 })).toBe(-1_000)
})

test('text that cannot be read and sizes of a clock that was ahead are ignored', () => {
  for (const text of ['', 'no JSON', '{}', '[1,[2],["a",3]]']) expect(sizesFromText(text)).toEqual([])
  expect(sizesFromText(sizesToText([{ at: 9 * HOUR, bytes: 1 }], { at: HOUR, bytes: 2 }))).toEqual([
    { at: HOUR, bytes: 2 },
  ])
})
