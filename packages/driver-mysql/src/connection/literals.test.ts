import mysql2 from 'mysql2'
import { expect, test } from 'vitest'
import { sessionToken } from '../settings/session-token.ts'
import { boundValues, splitStatement, writeLiterals } from './literals.ts'

const token = Buffer.from([0xab, 0xcd])

const write = (value: unknown): string => writeLiterals(splitStatement('SELECT ?'), [value], token)

test('bytes and strings become hexadecimal', () => {
  expect(write(Buffer.from("a'\\?\0"))).toBe("SELECT x'61275c3f00'")
  expect(write(Uint8Array.of(255, 0))).toBe("SELECT x'ff00'")
  expect(write(new Uint8Array([1, 2, 3, 4]).subarray(1, 3))).toBe("SELECT x'0203'")
  expect(write("é'; DROP TABLE entities")).toMatch(/^SELECT x'c3a9273b[0-9a-f]+'$/)
  expect(write('')).toBe("SELECT x''")
})

test('integers are digits, and other numbers have an exponent, so that they are doubles', () => {
  expect([0, -1, Number.MAX_SAFE_INTEGER].map(write)).toEqual([
    'SELECT 0',
    'SELECT -1',
    'SELECT 9007199254740991',
  ])
  expect([0.1, 1e21, 2 ** 60, -5e-324].map(write)).toEqual([
    'SELECT 0.1e0',
    'SELECT 1e+21',
    'SELECT 1152921504606847000e0',
    'SELECT -5e-324',
  ])
  expect(write(-(2n ** 63n))).toBe('SELECT -9223372036854775808')
  expect(write(null)).toBe('SELECT NULL')
})

test('parameters are written in their order', () => {
  expect(writeLiterals(splitStatement('a = ? AND b IN (?, ?)'), [1, 'b', null], token)).toBe(
    "a = 1 AND b IN (x'62', NULL)",
  )
})

test('a statement gets the token of its connection', () => {
  expect(write(sessionToken)).toBe("SELECT x'abcd'")
})

test('a prepared statement gets bytes and strings as Buffers, bigints as integers, and other values unchanged', () => {
  const part = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
  expect(boundValues([sessionToken, part, 'é', 1.5, 7, -(2n ** 63n), 2n ** 63n, null], token)).toEqual([
    token,
    Buffer.from([2, 3]),
    Buffer.from('é'),
    1.5,
    7,
    mysql2.TypedParameter.BIGINT(-(2n ** 63n)),
    mysql2.TypedParameter.BIGINT.unsigned(2n ** 63n),
    null,
  ])
})

test('an invalid parameter is rejected without its value', () => {
  for (const value of [undefined, Number.NaN, Infinity, true, ['secret'], { secret: 1 }, new Date()]) {
    expect(() => write(value)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(() => write(value)).not.toThrow(/secret/)
    expect(() => boundValues([value], token)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(() => boundValues([value], token)).not.toThrow(/secret/)
  }
})
