import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOf } from '../test/error-of.ts'
import { checkBag, MAX_DEPTH, type PropertyValue } from './bag.ts'

/** The message for a bag whose property `a` holds this. */
function refusalOf(value: unknown): string {
  const error = errorOf(() => checkBag({ a: value }))
  expect(error.code).toBe('BAD_PROPERTY')
  return error.message
}

describe('checkBag accepts', () => {
  const fine: Record<string, unknown> = {
    null: null,
    undefined: undefined,
    booleans: [true, false],
    'numbers of every kind': [0, -0, 1.5, NaN, Infinity, -Infinity, Number.MAX_VALUE, 5e-324],
    'bigints of 64 bits': [0n, -(2n ** 63n), 2n ** 64n - 1n],
    'well-formed strings': ['', 'é€𝄞', '\0'],
    Dates: [new Date(0), new Date(8.64e15), new Date(-8.64e15)],
    bytes: [new Uint8Array(0), Buffer.from('x')],
    'arrays and plain objects': [[], {}, [[]], { a: { b: [] } }],
    'an object without a prototype': Object.assign(Object.create(null) as object, { a: 1 }),
    'undefined properties': { a: undefined },
    'names of every kind': { '': 1, constructor: 2, toJSON: 3, hasOwnProperty: 4, '𝄞': 5, $date: 6 },
    'the same object twice, which is no circle': [fixed(), fixed()],
  }

  function fixed(): object {
    return { a: 1 }
  }

  test.each(Object.keys(fine))('%s', (kind) => {
    expect(() => checkBag({ a: fine[kind] })).not.toThrow()
  })

  test('an empty bag, and one without a prototype', () => {
    expect(() => checkBag({})).not.toThrow()
    expect(() => checkBag(Object.create(null))).not.toThrow()
  })

  test('any bag of what may be stored, and changes nothing in it', () => {
    const names = fc.string({ unit: 'binary' }).filter((name) => name !== '__proto__')
    const { value } = fc.letrec<{ value: PropertyValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant(null),
        fc.boolean(),
        fc.double(),
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
        fc.string({ unit: 'binary' }),
        fc.date({ noInvalidDate: true }),
        fc.uint8Array(),
        fc.array(tie('value')),
        fc.dictionary(names, tie('value')),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(names, value), (bag) => {
        const before = structuredClone({ ...bag })
        checkBag(bag)
        expect({ ...bag }).toEqual(before)
      }),
    )
  })

  test('values nested MAX_DEPTH deep, the bag itself included', () => {
    expect(() => checkBag(nested(MAX_DEPTH))).not.toThrow()
  })
})

describe('checkBag refuses, with BAD_PROPERTY,', () => {
  test.each<[string, unknown, string]>([
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('x'), 'a symbol'],
    ['an invalid Date', new Date(NaN), 'an invalid Date'],
    ['a bigint above 64 bits', 2n ** 64n, 'beyond 64 bits'],
    ['a bigint below 64 bits', -(2n ** 63n) - 1n, 'beyond 64 bits'],
    ['a lone high surrogate', 'x\ud800', 'lone surrogate'],
    ['a lone low surrogate', '\udc00x', 'lone surrogate'],
    ['a Map', new Map(), 'class Map'],
    ['a Set', new Set(), 'class Set'],
    ['a RegExp', /x/, 'class RegExp'],
    ['a Promise', Promise.resolve(), 'class Promise'],
    ['a boxed number', Object(5), 'class Number'],
    ['a typed array of other elements', new Uint16Array(1), 'class Uint16Array'],
    ['an ArrayBuffer', new ArrayBuffer(1), 'class ArrayBuffer'],
    [
      'an object of a class',
      new (class Point {
        x = 1
      })(),
      'class Point',
    ],
    ['an object with another object for its prototype', Object.create({ a: 1 }), 'an object'],
  ])('%s', (_, value, words) => {
    expect(refusalOf(value)).toMatch(/^a cannot be stored: /)
    expect(refusalOf(value)).toContain(words)
    expect(refusalOf([value])).toMatch(/^a\[0\] cannot be stored: /)
  })

  test.each([null, undefined, 'text', 5, [], new Date(), new Map(), new Uint8Array(1), () => 1])(
    '%s as a bag',
    (bag) => {
      const error = errorOf(() => checkBag(bag))
      expect(error.code).toBe('BAD_PROPERTY')
      expect(error.message).toContain('has to be a plain object; got ')
    },
  )

  test('undefined in an array, and a hole', () => {
    expect(refusalOf([1, undefined])).toContain('a[1]')
    const withHole = [1, 2, 3]
    delete withHole[1]
    expect(refusalOf(withHole)).toContain('a[1]')
    expect(refusalOf(Array.from({ length: 1 }).concat(1))).toContain('a[0]')
  })

  test('names that cannot be stored', () => {
    expect(refusalOf(JSON.parse('{"__proto__":{"x":1}}'))).toContain('a.__proto__')
    expect(refusalOf({ 'x\ud800': 1 })).toContain('lone surrogate')
    expect(refusalOf({ [Symbol('x')]: 1 })).toContain('symbol')
    expect(errorOf(() => checkBag({ [Symbol('x')]: 1 })).message).toMatch(/^The bag cannot be stored/)
  })

  test('values nested one deeper than MAX_DEPTH, arrays as well as objects', () => {
    expect(errorOf(() => checkBag(nested(MAX_DEPTH + 1))).message).toContain(`more than ${MAX_DEPTH} deep`)
    let array: unknown = []
    for (let i = 2; i < MAX_DEPTH; i++) array = [array]
    expect(() => checkBag({ a: array })).not.toThrow()
    expect(refusalOf([array])).toContain(`more than ${MAX_DEPTH} deep`)
  })

  test('circles', () => {
    const object: Record<string, unknown> = {}
    object['self'] = object
    expect(errorOf(() => checkBag(object)).message).toContain('in a circle')
    const array: unknown[] = []
    array.push(array)
    expect(refusalOf(array)).toContain('in a circle')
  })
})

describe('the path to what is refused', () => {
  test.each<[unknown, string]>([
    [{ a: { b: [0, { c: Symbol('x') }] } }, 'a.b[1].c cannot'],
    [{ 'two words': { 'a-b': Symbol('x') } }, '["two words"]["a-b"] cannot'],
    [{ a: [[Symbol('x')]] }, 'a[0][0] cannot'],
    [{ ok: [1, 2], more: { fine: {} }, bad: Symbol('x') }, 'bad cannot'],
    [{ '': Symbol('x') }, '[""] cannot'],
  ])('%o', (bag, start) => {
    expect(errorOf(() => checkBag(bag)).message.startsWith(start)).toBe(true)
  })

  test('shows long names cut short, and no value', () => {
    const error = errorOf(() => checkBag({ [`a ${'b'.repeat(5000)}`]: 'secret\ud800' }))
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).not.toContain('secret')
  })
})

/** A bag within which objects are nested, `depth` of them with the bag. */
function nested(depth: number): object {
  let bag: object = {}
  for (let i = 1; i < depth; i++) bag = { in: bag }
  return bag
}
