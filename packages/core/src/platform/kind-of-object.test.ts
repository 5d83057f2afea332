import { runInNewContext, runInThisContext } from 'node:vm'
import { expect, test } from 'vitest'
import { compareKeyValues } from '../tables/key-order.ts'
import { describeKind, isLooseleafError } from '../errors/errors.ts'
import { isBytes, isDate, isError, isPlainObject, isPromise } from './kind-of-object.ts'

/** Evaluates source in a realm with globals of its own, like Jest and `vm` contexts. */
const other = (source: string): unknown => runInNewContext(source)

const tests = { isBytes, isDate, isError, isPlainObject, isPromise }

const kinds: readonly [source: string, kind: keyof typeof tests | undefined][] = [
  ['new Date(5)', 'isDate'],
  ['new Date(NaN)', 'isDate'],
  ['new (class extends Date {})(5)', 'isDate'],
  ['new Uint8Array([1, 2])', 'isBytes'],
  ['new TypeError("no")', 'isError'],
  ['Promise.resolve(1)', 'isPromise'],
  ['({ a: 1 })', 'isPlainObject'],
  ['Object.create(null)', 'isPlainObject'],
  ['[1]', undefined],
  ['new Map()', undefined],
  ['new Uint16Array(2)', undefined],
  ['new ArrayBuffer(2)', undefined],
  ['new (class A {})()', undefined],
  ['Object.create(Date.prototype)', undefined],
  ['"text"', undefined],
  ['null', undefined],
  ['undefined', undefined],
]

test.each(kinds)('an object has the same kind in another realm and in this one: %s', (source, kind) => {
  const expected = kind === undefined ? [] : [kind]
  for (const value of [other(source), runInThisContext(source) as unknown]) {
    const of = Object.entries(tests).filter(([, holds]) => holds(value))
    expect(of.map(([name]) => name)).toEqual(expected)
  }
})

test('isBytes accepts a Buffer, and isError a DOMException', () => {
  expect(isBytes(Buffer.alloc(2))).toBe(true)
  expect(isError(AbortSignal.abort().reason)).toBe(true)
})

test('isDate rejects an object that only has the tag of a Date', () => {
  expect(isDate({ [Symbol.toStringTag]: 'Date' })).toBe(false)
})

test('messages, keys and codes treat objects of another realm as those of this one', () => {
  expect(['new Date(5)', 'new Uint8Array(2)'].map((source) => describeKind(other(source)))).toEqual([
    'a Date',
    '2 bytes',
  ])
  expect(compareKeyValues(other('new Uint8Array([1, 2])') as Uint8Array, Buffer.from([1, 3]))).toBeLessThan(0)
  const error = other('Object.assign(new Error("x"), { name: "LooseleafError", code: "CONFLICT" })')
  expect(isLooseleafError(error, 'CONFLICT')).toBe(true)
})
