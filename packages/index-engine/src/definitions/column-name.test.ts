import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { columnName } from './column-name.ts'

it('a plain lower-case name stays, even a word of SQL', () => {
  for (const name of ['user_id', 'published', 'a1', 'order']) expect(columnName(name)).toBe(name)
})

it('the column of a property never changes, because tables have it', () => {
  expect(columnName('userId')).toBe('userid_6ccb2121')
  expect(columnName('user-id')).toBe('user_id_a7571dde')
  expect(columnName('Größe')).toBe('gr_e_aedc3f80')
  expect(columnName('名前')).toBe('property_7ec26292')
  expect(columnName('2nd')).toBe('nd_c21365c7')
  expect(columnName('version')).toBe('version_5ca4f385')
  expect(columnName('entity_id')).toBe('entity_id_5364bf08')
})

it('columns are distinct, and safe in SQL with and without quotes', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc.stringMatching(/^[a-cA-C_]{1,4}(_[0-9a-f]{8})?$/),
  )
  fc.assert(
    fc.property(name, name, (a, b) => {
      expect(columnName(a)).toMatch(/^[a-z][a-z0-9_]{0,63}$/)
      expect(['entity_id', 'version']).not.toContain(columnName(a))
      expect(columnName(a) === columnName(b)).toBe(a === b)
    }),
  )
})
