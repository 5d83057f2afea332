import { createHash } from 'node:crypto'
import { compareKeyValues, type ColumnType } from '@looseleaf/core/internal'
import { codePoint } from '@looseleaf-tooling/kit/code-point'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromKeyValue, toKeyValue } from './key-value.ts'

function keyOf(type: ColumnType, value: unknown): Uint8Array | number | bigint {
  const result = toKeyValue(type, value)
  if ('misfit' in result) throw new Error(result.misfit)
  return result.value
}

describe('toKeyValue', () => {
  it('each type has its own form in a key', () => {
    expect(keyOf('uuid', '00112233-4455-6677-8899-AABBCCDDEEFF')).toEqual(
      Buffer.from('00112233445566778899aabbccddeeff', 'hex'),
    )
    expect(keyOf('string', 'é')).toEqual(Buffer.from([0xc3, 0xa9]))
    expect(keyOf('integer', -7)).toBe(-7n)
    expect(keyOf('integer', 2n ** 63n - 1n)).toBe(2n ** 63n - 1n)
    expect(keyOf('number', 0.1)).toBe(0.1)
    expect(keyOf('boolean', true)).toBe(1n)
    expect(keyOf('time', new Date(-1))).toBe(-1000n)
  })

  it('a key has no negative zero', () => {
    expect(Object.is(keyOf('number', -0), 0)).toBe(true)
    expect(keyOf('integer', -0)).toBe(0n)
  })

  it('a key has up to 512 bytes of a string, and a SHA-256 of a longer one', () => {
    const fits = 'é'.repeat(256)
    expect(keyOf('string', fits)).toEqual(Buffer.from(fits))
    const long = `${fits}!`
    const hash = createHash('sha256').update(long).digest()
    expect(toKeyValue('string', long)).toEqual({
      value: Buffer.concat([Buffer.from(fits), hash]),
      exact: Buffer.from(long),
    })
  })
})

describe('a misfit', () => {
  it.each<[ColumnType, unknown, string]>([
    ['uuid', 'x', 'a UUID string is expected, got a string of 1 character'],
    ['uuid', new Uint8Array(16), 'a UUID string is expected, got 16 bytes'],
    ['string', 1, 'a string is expected, got a number'],
    ['string', '\ud800', 'a string without lone surrogates is expected, this one has some'],
    [
      'integer',
      1.5,
      'a whole number up to 2^53 - 1 or a bigint of 64 bits is expected, got a number that is not whole',
    ],
    [
      'integer',
      Number.NaN,
      'a whole number up to 2^53 - 1 or a bigint of 64 bits is expected, got a number that is not whole',
    ],
    [
      'integer',
      2 ** 53,
      'a whole number up to 2^53 - 1 or a bigint of 64 bits is expected, got a greater number',
    ],
    [
      'integer',
      2n ** 63n,
      'a whole number up to 2^53 - 1 or a bigint of 64 bits is expected, got a greater bigint',
    ],
    [
      'integer',
      '1',
      'a whole number up to 2^53 - 1 or a bigint of 64 bits is expected, got a string of 1 character',
    ],
    ['number', Number.NaN, 'a finite number is expected, got NaN'],
    ['number', Number.POSITIVE_INFINITY, 'a finite number is expected, got Infinity'],
    ['number', 1n, 'a finite number is expected, got a bigint'],
    ['boolean', 1, 'true or false is expected, got a number'],
    ['time', 1_700_000_000_000, 'a valid Date is expected, got a number'],
    ['time', new Date(Number.NaN), 'a valid Date is expected, got an invalid Date'],
    ['string', ['x'], 'a string is expected, got an array of 1 element'],
  ])('a misfit for %s names the expectation and the kind of value', (type, value, reason) => {
    expect(toKeyValue(type, value)).toEqual({ misfit: reason })
  })
})

const arbitraries: Readonly<Record<ColumnType, fc.Arbitrary<unknown>>> = {
  uuid: fc.uuid(),
  string: fc.string({ unit: codePoint, maxLength: 100 }),
  integer: fc.maxSafeInteger().map((value) => (value === 0 ? 0 : value)),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
  boolean: fc.boolean(),
  time: fc.date({ noInvalidDate: true }),
}

describe('fromKeyValue', () => {
  it.each(Object.keys(arbitraries) as ColumnType[])('a value survives its key: %s', (type) => {
    fc.assert(
      fc.property(arbitraries[type], (value) => {
        expect(fromKeyValue(type, keyOf(type, value))).toEqual(value)
      }),
    )
  })

  it('an integer beyond 2^53 - 1 becomes a bigint, and a string cut by its column is undefined', () => {
    expect(fromKeyValue('integer', 2n ** 53n)).toBe(2n ** 53n)
    expect(fromKeyValue('string', keyOf('string', 'x'.repeat(513)))).toBeUndefined()
  })

  it('a column of another type gives undefined', () => {
    expect(fromKeyValue('uuid', new Uint8Array(15))).toBeUndefined()
    expect(fromKeyValue('string', Uint8Array.of(0xff))).toBeUndefined()
    expect(fromKeyValue('time', 2n ** 63n - 1n)).toBeUndefined()
    expect(fromKeyValue('integer', 1)).toBeUndefined()
    expect(fromKeyValue('number', 1n)).toBeUndefined()
    expect(fromKeyValue('boolean', 1)).toBeUndefined()
  })
})

it('keys keep the order of strings by code point, up to 512 bytes', () => {
  const text = fc.string({ unit: codePoint, maxLength: 5 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const points = (value: string): number[] => Array.from(value, (letter) => letter.codePointAt(0) ?? 0)
      const [left, right] = [points(a), points(b)]
      const at = left.findIndex((point, i) => point !== right[i])
      const expected = at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
      expect(Math.sign(compareKeyValues(keyOf('string', a), keyOf('string', b)))).toBe(Math.sign(expected))
    }),
  )
})
