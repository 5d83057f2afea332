import { deepStrictEqual } from 'node:assert/strict'
import type { Bag } from '@looseleaf/core'
import { MAX_DEPTH } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { jsonFormat } from './json-format.ts'

function textOf(bag: Bag): string {
  return Buffer.from(jsonFormat.encode(bag)).toString()
}

function decode(text: string): Bag {
  return jsonFormat.decode(Buffer.from(text))
}

describe('jsonFormat', () => {
  test('every bag comes back', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        deepStrictEqual(jsonFormat.decode(jsonFormat.encode(bag)), bag)
      }),
      { numRuns: runsOf(80) },
    )
  })

  test('a bag of JSON types is plain JSON', () => {
    const bag = { title: 'A', tags: ['x', null], nested: { n: 1.5, yes: true } }
    expect(textOf(bag)).toBe(JSON.stringify(bag))
  })

  test('values without a JSON form are tagged', () => {
    const bag = {
      at: new Date(1235697046123),
      big: -5n,
      bytes: new Uint8Array([104, 105]),
      odd: [NaN, -Infinity],
    }
    expect(JSON.parse(textOf(bag))).toEqual({
      at: { $date: '2009-02-27T01:10:46.123Z' },
      big: { $bigint: '-5' },
      bytes: { $bytes: 'aGk=' },
      odd: [{ $number: 'NaN' }, { $number: '-Infinity' }],
    })
  })

  test('whole numbers beyond 2^53 - 1 have an exponent, so that they do not look like exact integers', () => {
    const bag = {
      safe: 2 ** 53 - 1,
      unsafe: 2 ** 53,
      low: -(2 ** 60),
      wide: 123456789012345680000,
      huge: 1e300,
    }
    expect(textOf(bag)).toBe(
      '{"safe":9007199254740991,"unsafe":9.007199254740992e+15,"low":-1.152921504606847e+18,"wide":1.2345678901234568e+20,"huge":1e+300}',
    )
    expect(decode(textOf(bag))).toStrictEqual(bag)
    // Earlier versions wrote whole numbers in digits.
    expect(decode('{"unsafe":9007199254740992,"wide":123456789012345680000}')).toStrictEqual({
      unsafe: 2 ** 53,
      wide: 123456789012345680000,
    })
  })

  test('a property that looks like a tag comes back as a property', () => {
    const bag: Bag = { $date: 'x', $$date: 'y', a: { $bigint: '5' }, b: { $: { $number: 'NaN' } } }
    expect(textOf(bag)).toBe(
      '{"$$date":"x","$$$date":"y","a":{"$$bigint":"5"},"b":{"$$":{"$$number":"NaN"}}}',
    )
    expect(decode(textOf(bag))).toStrictEqual(bag)
    expect(decode(textOf({ $date: '2009-02-27T01:10:46.123Z' }))).toStrictEqual({
      $date: '2009-02-27T01:10:46.123Z',
    })
  })

  test.each([
    '',
    'x',
    '5',
    'null',
    '"text"',
    '[]',
    '{"a":1}x',
    '\ufeff{"a":1}',
    '{"a":1e999}',
    '{"a":"\\ud800"}',
    '{"\\ud800":1}',
    '{"__proto__":1}',
    '{"a":{"__proto__":{}}}',
    '{"$date":"2009-02-27T01:10:46.123Z"}',
    '{"$bytes":""}',
    '{"a":{"$date":"2009-02-27"}}',
    '{"a":{"$date":5}}',
    '{"a":{"$date":"x"}}',
    '{"a":{"$bigint":"05"}}',
    '{"a":{"$bigint":"-0"}}',
    '{"a":{"$bigint":" 5"}}',
    '{"a":{"$bigint":5}}',
    '{"a":{"$bigint":"18446744073709551616"}}',
    '{"a":{"$bigint":"-9223372036854775809"}}',
    '{"a":{"$bytes":"a"}}',
    '{"a":{"$bytes":"aGk"}}',
    '{"a":{"$bytes":7}}',
    '{"a":{"$number":"5"}}',
    '{"a":{"$number":NaN}}',
    '{"a":{"$unknown":"5"}}',
    '{"a":{"$date":"2009-02-27T01:10:46.123Z","b":1}}',
    '{"a":{"$toString":"x"}}',
  ])('the text %s is BODY_DAMAGED', (text) => {
    expect(codeOf(() => decode(text))).toBe('BODY_DAMAGED')
  })

  test('a -0 of another writer becomes 0', () => {
    expect(decode('{"a":-0}')).toStrictEqual({ a: 0 })
  })

  test('text that is not UTF-8 is BODY_DAMAGED', () => {
    expect(codeOf(() => jsonFormat.decode(Buffer.from('{"a":"\xff"}', 'latin1')))).toBe('BODY_DAMAGED')
  })

  test('nesting beyond the limit is refused without a stack overflow', () => {
    const deep = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(decode(deep(MAX_DEPTH - 1))).toHaveProperty('a')
    expect(codeOf(() => decode(deep(MAX_DEPTH)))).toBe('BODY_DAMAGED')
    expect(codeOf(() => decode(deep(200_000)))).toBe('BODY_DAMAGED')
    expect(codeOf(() => decode('['.repeat(1_000_000)))).toBe('BODY_DAMAGED')
  })

  test('a Date at the deepest level does not count as another level', () => {
    let bag: Bag = { at: new Date(0), big: 1n }
    for (let i = 1; i < MAX_DEPTH; i++) bag = { in: bag }
    expect(decode(textOf(bag))).toStrictEqual(bag)
  })

  test('an error of the JSON parser does not quote stored values', () => {
    let error: unknown
    try {
      decode('{"a":"secret text')
    } catch (thrown) {
      error = thrown
    }
    expect(String(error)).not.toContain('secret')
    expect((error as Error).cause).toBeUndefined()
  })
})
