import { expect, test } from 'vitest'
import { columnNames } from './schema.ts'

const namesOf = (...names: string[]): readonly string[] =>
  columnNames({ columns: names.map((name) => ({ name, type: 'integer' })) })

test("a column has its property's name if that is plain", () => {
  expect(namesOf('user_id', 'published', 'Tag')).toEqual(['user_id', 'published', 'Tag'])
})

test("a column has its place for a name if a database may reject the property's", () => {
  expect(namesOf('', 'ü', 'a b', '1st', 'a`b', 'what?', 'x'.repeat(61))).toEqual(
    Array.from({ length: 7 }, (_, i) => `property_${i}`),
  )
})

test("a column has its place for a name if another column has the property's, in any case", () => {
  expect(namesOf('entity_id', 'VERSION', 'tag', 'TAG')).toEqual([
    'property_0',
    'property_1',
    'tag',
    'property_3',
  ])
})

test('a property named like a place gets its own place', () => {
  expect(namesOf('property_1', 'ü')).toEqual(['property_0', 'property_1'])
})
