import { expect, test } from 'vitest'
import { columnNames } from './schema.ts'

const namesOf = (...names: string[]): readonly string[] =>
  columnNames({ table: 'ix', columns: names.map((name) => ({ name, type: 'integer' })) })

test('a plain name is the name of its column', () => {
  expect(namesOf('user_id', 'published', 'Tag')).toEqual(['user_id', 'published', 'Tag'])
})

test('a name that a database may not take for a column is replaced by its place', () => {
  expect(namesOf('', 'ü', 'a b', '1st', 'a`b', 'what?', 'x'.repeat(61))).toEqual(
    Array.from({ length: 7 }, (_, i) => `property_${i}`),
  )
})

test('names of other columns, and names that differ in case alone, are replaced', () => {
  expect(namesOf('entity_id', 'VERSION', 'tag', 'TAG')).toEqual([
    'property_0',
    'property_1',
    'tag',
    'property_3',
  ])
})

test('no property can take the name that stands for another', () => {
  expect(namesOf('property_1', 'ü')).toEqual(['property_0', 'property_1'])
})
