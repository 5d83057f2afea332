import { expect, test } from 'vitest'
import { linesFrom, linesFromText, linesToText } from './line-selection.ts'

const ID = '0192f0c1-7c1e-7abc-8def-0123456789ab'

test('a list of lines is the same after parsing and printing', () => {
  const text = `7,12-20,22=${ID},23,31-`
  const ranges = linesFromText(text)!
  expect(ranges).toEqual([
    { from: 7, to: 7 },
    { from: 12, to: 20 },
    { from: 22, to: 22, id: ID },
    { from: 23, to: 23 },
    { from: 31, to: Infinity },
  ])
  expect(linesToText(ranges)).toBe(text)
  expect(linesToText(linesFromText('1,2,3-4,6,7-')!)).toBe('1-4,6-')
})

test.each(['', '0', '3,2', '5-4', '1-,2', 'x', '1-3,3', '1--2', '9007199254740993'])(
  '%j is not a list of lines',
  (text) => {
    expect(linesFromText(text)).toBeUndefined()
  },
)

test('linesFrom keeps the part of a list that starts at a line', () => {
  const rest = (line: number): string => linesToText(linesFrom(linesFromText('7,12-20,31-')!, line))
  expect([7, 8, 15, 40].map(rest)).toEqual(['7,12-20,31-', '12-20,31-', '15-20,31-', '40-'])
})
