import { describe, expect, test } from 'vitest'
import { parseReference, parseValue } from './reference.ts'

const id = '0192f0c1-7c1e-7abc-8def-0123456789ab'

describe('a reference', () => {
  test('a reference is an id, or an id with a version as a number or text', () => {
    expect(parseReference('update', id)).toEqual({ id, version: undefined })
    expect(parseReference('update', { id, version: 7, title: 'x' })).toEqual({ id, version: 7 })
    expect(parseReference('update', { id, version: '17' })).toEqual({ id, version: 17 })
  })

  test.each([
    [undefined, 'BAD_OPTION', /^update takes an id, or \{ id, version \}; got nothing/],
    [null, 'BAD_OPTION', /got null/],
    [7, 'BAD_OPTION', /got a number/],
    [{ version: 7 }, 'BAD_OPTION', /^update takes an id, or \{ id, version \}; got an object/],
    [{ id }, 'BAD_OPTION', /got an id in an object without a version/],
    ['x', 'BAD_ID', /x/],
    [{ id: 'x', version: 7 }, 'BAD_ID', /x/],
    [{ id, version: '0x10' }, 'BAD_OPTION', /^update takes as the version a version of an entity/],
    [{ id, version: ['7'] }, 'BAD_OPTION', /got an array of 1 element/],
    [{ id, version: 7n }, 'BAD_OPTION', /got a bigint/],
    [{ id, version: 1.5 }, 'BAD_OPTION', /got a number/],
  ])('%o is no reference', (of, code, message) => {
    expect(() => parseReference('update', of)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(code === 'BAD_ID' ? /./ : message) }),
    )
  })
})

describe('a value', () => {
  test('parseValue splits a value into id, version and properties', () => {
    expect(parseValue('put', { a: 1 })).toEqual({ id: undefined, version: undefined, properties: { a: 1 } })
    expect(parseValue('put', { id, version: 7, a: 1 })).toEqual({ id, version: 7, properties: { a: 1 } })
  })

  test.each([undefined, null, 7, 'x', [1]])('%j is no value of an entity', (value) => {
    expect(() => parseValue('put', value)).toThrow(/^put takes an object of properties; got /)
  })

  test('parseValue refuses an invalid id', () => {
    expect(() => parseValue('put', { id: 7 })).toThrow(expect.objectContaining({ code: 'BAD_ID' }))
  })
})
