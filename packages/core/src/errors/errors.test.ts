import { describe, expect, test } from 'vitest'
import { describeKind, errorCodes, isLooseleafError, LooseleafError, type ErrorCode } from './errors.ts'

const codes = Object.keys(errorCodes) as ErrorCode[]

describe('LooseleafError', () => {
  test('exactly these codes are retryable by default', () => {
    expect(codes.filter((code) => new LooseleafError(code, '').retryable)).toEqual([
      'CONFLICT',
      'INDEX_NOT_READY',
      'STALE_EPOCH',
      'SHARD_UNAVAILABLE',
      'CACHE_UNAVAILABLE',
      'SHARD_FULL',
      'SHARD_BUSY',
      'DEADLINE',
      'OUTCOME_UNKNOWN',
    ])
  })

  test('only OUTCOME_UNKNOWN has unknownOutcome by default', () => {
    expect(codes.filter((code) => new LooseleafError(code, '').unknownOutcome)).toEqual(['OUTCOME_UNKNOWN'])
  })

  test('the JSON of an error has its message, and not its cause', () => {
    const error = new LooseleafError('BAD_OPTION', 'Too many.', { shard: 's1', cause: new Error('a value') })
    const text = JSON.stringify({ error })
    expect(JSON.parse(text)).toMatchObject({
      error: { name: 'LooseleafError', code: 'BAD_OPTION', message: 'Too many.', shard: 's1' },
    })
    expect(text).not.toContain('a value')
  })

  test('options override the defaults of a code', () => {
    const error = new LooseleafError('DEADLINE', 'Too long.', {
      retryable: false,
      unknownOutcome: true,
      shard: 'shard 3',
      entity: '0192f0c1-7c1e-7abc-8def-0123456789ab',
    })
    expect(error).toMatchObject({ retryable: false, unknownOutcome: true, shard: 'shard 3' })
    expect(error.entity).toBe('0192f0c1-7c1e-7abc-8def-0123456789ab')
  })

  test('a LooseleafError is an Error with a name, a message and a cause', () => {
    const cause = new Error('below')
    const error = new LooseleafError('BAD_ID', 'No.', { cause })
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.message, error.cause]).toEqual(['LooseleafError', 'No.', cause])
    expect(String(error)).toBe('LooseleafError: No.')
    expect('cause' in new LooseleafError('BAD_ID', 'No.')).toBe(false)
  })
})

describe('isLooseleafError', () => {
  test('isLooseleafError distinguishes LooseleafErrors from other values', () => {
    expect(isLooseleafError(new LooseleafError('BAD_ID', ''))).toBe(true)
    for (const other of [
      new Error('x'),
      null,
      undefined,
      'LooseleafError',
      { name: 'LooseleafError', code: 'BAD_ID' },
    ]) {
      expect(isLooseleafError(other)).toBe(false)
    }
  })

  test('isLooseleafError distinguishes codes', () => {
    const error = new LooseleafError('BAD_ID', '')
    expect([isLooseleafError(error, 'BAD_ID'), isLooseleafError(error, 'CLOSED')]).toEqual([true, false])
  })

  test('isLooseleafError recognizes errors of another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'LooseleafError', code: 'CLOSED' })
    expect(isLooseleafError(foreign, 'CLOSED')).toBe(true)
  })
})

describe('describeKind', () => {
  test.each<[unknown, string]>([
    [null, 'null'],
    [undefined, 'nothing'],
    ['hunter2', 'a string of 7 characters'],
    ['x', 'a string of 1 character'],
    [5, 'a number'],
    [NaN, 'NaN'],
    [-Infinity, '-Infinity'],
    [5n, 'a bigint'],
    [true, 'a boolean'],
    [[1, 2], 'an array of 2 elements'],
    [[1], 'an array of 1 element'],
    [new Date(0), 'a Date'],
    [new Date(NaN), 'an invalid Date'],
    [new Uint8Array(3), '3 bytes'],
    [new Uint8Array(1), '1 byte'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [new Map(), 'an object of class Map'],
    [
      new (class {
        x = 1
      })(),
      'an object of class ',
    ],
    [() => 1, 'a function'],
    [Symbol('x'), 'a symbol'],
  ])('describeKind of %o is %s', (value, words) => {
    expect(describeKind(value)).toBe(words)
  })
})
