import { expect, test } from 'vitest'
import { createKnownNames } from './known-names.ts'

test('a bag with every noted name needs no schema, until a schema has more than 1,000 names', () => {
  const names = createKnownNames()
  expect(names.isComplete({ a: 1 })).toBe(false)
  names.note({ a: 1, x: 1 }, { a: 1, b: 2 })
  expect(names.isComplete({ a: 1, b: 1, x: 1 })).toBe(true)
  expect(names.isComplete({ a: 1 })).toBe(false)
  expect(names.isComplete({ a: 1, b: 1, y: 1 })).toBe(false)
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`n${n}`, n]))
  names.note(many, many)
  expect(names.isComplete({ a: 1, b: 1, ...many })).toBe(false)
})
