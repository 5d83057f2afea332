import { expect, test } from 'vitest'
import { validated, validatedAgain, validatedIfFit, type Schema } from './schema.ts'

type Issue = { readonly message: string; readonly path?: readonly unknown[] }

function refusing(...issues: readonly Issue[]): Schema {
  return { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as unknown as Schema
}

function giving(value: unknown): Schema {
  return { '~standard': { version: 1, vendor: 'test', validate: () => ({ value }) } }
}

const messageOf = (value: unknown, ...issues: readonly Issue[]): string => {
  try {
    validated(refusing(...issues), value, 'The note', 'id')
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('The schema has to refuse it.')
}

test('an error of a schema has the path of each issue, and names the value as a whole', () => {
  const issues = [{ message: 'no' }, { message: 'bad', path: ['a', { key: 0 }, 'b'] }]
  expect(messageOf({}, ...issues)).toBe('The note does not fit its schema: the whole: no; a.0.b: bad.')
  expect(() => validated(refusing(...issues), {}, 'The note', 'id')).toThrow(
    expect.objectContaining({
      code: 'SCHEMA_MISMATCH',
      entity: 'id',
      issues: [
        { message: 'no', path: [] },
        { message: 'bad', path: ['a', 0, 'b'] },
      ],
    }),
  )
  expect(() => validatedAgain(refusing({ message: 'no' }), {}, 'The note')).toThrow(
    'The note is not written: its schema refuses its own output, and so would every later update: the whole: no.',
  )
})

test('an error shows ten issues, and tells the number of the others', () => {
  const issues = (count: number): Issue[] => Array.from({ length: count }, (_, n) => ({ message: `m${n}` }))
  expect(messageOf({}, ...issues(10))).toMatch(/m9\.$/)
  expect(messageOf({}, ...issues(12))).toMatch(/m9 \(and 2 more\)\.$/)
})

test.each<[string, unknown, string, string]>([
  ['a long text anywhere', 'abcd', 'got abcd in abcde', 'got … in …e'],
  ['a short text in quotes alone', 'abc', `"abc" and 'abc' in abc`, '… and … in abc'],
  ['a number on its own', 17, 'got 17, 17.5, 117, a17 and 17.', 'got …, 17.5, 117, a17 and ….'],
  ['a number with a point', 1.5, 'got 1.5 and 105', 'got … and 105'],
  ['a large number', 1e21, 'got 1e+21', 'got …'],
  ['a bigint', 7n, 'got 7', 'got …'],
  ['no infinity', Infinity, 'got Infinity', 'got Infinity'],
  ['no truth value', true, 'got true', 'got true'],
  ['no valid date', new Date(0), 'got 0', 'got 0'],
])('a message leaves out %s', (_, value, message, expected) => {
  expect(messageOf({ a: value }, { message, path: ['a'] })).toContain(`a: ${expected}.`)
})

test('a message names an invalid date, unless it does so itself', () => {
  const at = new Date(Number.NaN)
  expect(messageOf({ at }, { message: 'expected date', path: ['at'] })).toMatch(
    /at: expected date \(.*invalid Date.*\)\.$/i,
  )
  expect(messageOf({ at }, { message: 'an Invalid Date', path: ['at'] })).toMatch(/at: an Invalid Date\.$/)
})

test('a path that leads nowhere is the path of no value', () => {
  expect(messageOf({ a: null }, { message: 'got text', path: ['a', 'b', 'c'] })).toContain('a.b.c: got text.')
})

test.each([undefined, null, 5, 'text'])('an output that is no object is refused: %j', (output) => {
  expect(() => validated(giving(output), {}, 'The note')).toThrow(
    'The note was not checked: its schema has to return an object.',
  )
  expect(validatedIfFit(giving(output), {})).toBeUndefined()
})

test('an output is returned as it is, and a promise is refused without an unhandled rejection', async () => {
  const output = { a: 1 }
  expect([validated(giving(output), {}, ''), validatedIfFit(giving(output), {})]).toEqual([output, output])
  const rejecting = {
    '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('no')) },
  } as unknown as Schema
  expect(() => validated(rejecting, {}, 'The note')).toThrow('its schema returned a promise')
  await new Promise((resolve) => setImmediate(resolve))
})
