import { expect, test } from 'vitest'
import { filledIn } from './schema-output.ts'

test('an array is filled in only if the schema keeps its length', () => {
  const stored = [{ a: 1 }]
  expect(filledIn(stored, [{ a: 1, b: 2 }])).toEqual([{ a: 1, b: 2 }])
  expect(filledIn(stored, [{ a: 1, b: 2 }, { a: 3 }])).toBe(stored)
})
