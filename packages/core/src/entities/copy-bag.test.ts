import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOf } from '../../test/error-of.ts'
import { MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from './bag.ts'
import { checkBag, copyBag, copyEntity } from './copy-bag.ts'

/** Returns the message about a bag with this value of `a`. */
function refusalOf(value: unknown): string {
  const error = errorOf(() => checkBag({ a: value }))
  expect(error.code).toBe('BAD_PROPERTY')
  return error.message
}

describe('checkBag: storable values', () => {
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
    'the same object twice': [fixed(), fixed()],
  }

  function fixed(): object {
    return { a: 1 }
  }

  test.each(Object.keys(fine))('checkBag accepts %s', (kind) => {
    expect(() => checkBag({ a: fine[kind] })).not.toThrow()
  })

  test('checkBag accepts an empty bag, and one without a prototype', () => {
    expect(() => checkBag({})).not.toThrow()
    expect(() => checkBag(Object.create(null))).not.toThrow()
  })

  test('checkBag accepts any bag of storable values, and does not change it', () => {
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
        const copy = copyBag(bag)
        expect({ ...bag }).toEqual(before)
        expect(copy).toEqual(before)
      }),
    )
  })

  test('checkBag accepts values nested MAX_DEPTH deep, counting the bag itself', () => {
    expect(() => checkBag(nested(MAX_DEPTH))).not.toThrow()
  })
})

describe('checkBag: BAD_PROPERTY', () => {
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
  ])('checkBag refuses %s', (_, value, words) => {
    expect(refusalOf(value)).toMatch(/^a cannot be stored: /)
    expect(refusalOf(value)).toContain(words)
    expect(refusalOf([value])).toMatch(/^a\[0\] cannot be stored: /)
  })

  test.each([null, undefined, 'text', 5, [], new Date(), new Map(), new Uint8Array(1), () => 1])(
    'checkBag refuses %s as a bag',
    (bag) => {
      const error = errorOf(() => checkBag(bag))
      expect(error.code).toBe('BAD_PROPERTY')
      expect(error.message).toContain('has to be a plain object; got ')
    },
  )

  test('checkBag refuses undefined in an array, and a hole', () => {
    expect(refusalOf([1, undefined])).toContain('a[1]')
    const withHole = [1, 2, 3]
    delete withHole[1]
    expect(refusalOf(withHole)).toContain('a[1]')
    expect(refusalOf(Array.from({ length: 1 }).concat(1))).toContain('a[0]')
  })

  test('checkBag refuses names that cannot be stored', () => {
    expect(refusalOf(JSON.parse('{"__proto__":{"x":1}}'))).toContain('a.__proto__')
    expect(refusalOf({ 'x\ud800': 1 })).toContain('lone surrogate')
    expect(refusalOf({ [Symbol('x')]: 1 })).toContain('symbol')
    expect(errorOf(() => checkBag({ [Symbol('x')]: 1 })).message).toMatch(/^The bag cannot be stored/)
  })

  test('checkBag refuses values nested deeper than MAX_DEPTH, arrays as well as objects', () => {
    expect(errorOf(() => checkBag(nested(MAX_DEPTH + 1))).message).toContain(`more than ${MAX_DEPTH} deep`)
    let array: unknown = []
    for (let i = 2; i < MAX_DEPTH; i++) array = [array]
    expect(() => checkBag({ a: array })).not.toThrow()
    expect(refusalOf([array])).toContain(`more than ${MAX_DEPTH} deep`)
  })

  test('checkBag refuses circular objects and arrays', () => {
    const object: Record<string, unknown> = {}
    object['self'] = object
    expect(errorOf(() => checkBag(object)).message).toContain('in a circle')
    const array: unknown[] = []
    array.push(array)
    expect(refusalOf(array)).toContain('in a circle')
  })
})

describe('the path in a message', () => {
  test.each<[unknown, string]>([
    [{ a: { b: [0, { c: Symbol('x') }] } }, 'a.b[1].c cannot'],
    [{ 'two words': { 'a-b': Symbol('x') } }, '["two words"]["a-b"] cannot'],
    [{ a: [[Symbol('x')]] }, 'a[0][0] cannot'],
    [{ ok: [1, 2], more: { fine: {} }, bad: Symbol('x') }, 'bad cannot'],
    [{ '': Symbol('x') }, '[""] cannot'],
  ])('the path leads to the refused value: %o', (bag, start) => {
    expect(errorOf(() => checkBag(bag)).message.startsWith(start)).toBe(true)
  })

  test('a message truncates long names, and has no values', () => {
    const error = errorOf(() => checkBag({ [`a ${'b'.repeat(5000)}`]: 'secret\ud800' }))
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).not.toContain('secret')
  })
})

describe('a copy of a bag', () => {
  test('a copy shares nothing with its bag that the caller could change', () => {
    const at = new Date(5)
    const bytes = Buffer.from('abc')
    const list = [1, { at }]
    const bag = { at, bytes, list, nested: { list } }
    const copy = copyBag(bag)
    at.setTime(Number.NaN)
    bytes.fill(0)
    list.push(2)
    list[0] = 7
    const then = new Date(5)
    expect(copy).toStrictEqual({
      at: then,
      bytes: Uint8Array.of(97, 98, 99),
      list: [1, { at: then }],
      nested: { list: [1, { at: then }] },
    })
  })

  test('copyBag reads each value once, at any depth', () => {
    const reads = new Map<string, number>()
    const copy = copyBag(
      counting({ a: 1, list: [{ b: 'x' }, [2n]], nested: { c: null, d: { e: true } } }, reads),
    )
    expect(copy).toStrictEqual({ a: 1, list: [{ b: 'x' }, [2n]], nested: { c: null, d: { e: true } } })
    expect([...reads.values()].every((times) => times === 1)).toBe(true)
    expect([...reads.keys()].filter((path) => !/Symbol|length|constructor/.test(path)).toSorted()).toEqual(
      [
        '.a',
        '.list',
        '.list.0',
        '.list.0.b',
        '.list.1',
        '.list.1.0',
        '.nested',
        '.nested.c',
        '.nested.d',
      ].concat('.nested.d.e'),
    )
  })

  test('a copy has the plain values of Dates, bytes and arrays, whatever their classes override', () => {
    class Tomorrow extends Date {
      override getTime(): number {
        return super.getTime() + 86_400_000
      }
      override valueOf(): number {
        return Number.NaN
      }
    }
    class Bytes extends Uint8Array {
      override get length(): number {
        return 1
      }
    }
    class List extends Array<number> {
      readonly extra = 'x'
    }
    const match = /b/.exec('abc')
    const copy = copyBag({ at: new Tomorrow(5), bytes: new Bytes([1, 2]), list: List.of(1, 2), match })
    expect(copy).toStrictEqual({ at: new Date(5), bytes: Uint8Array.of(1, 2), list: [1, 2], match: ['b'] })
  })

  test('a copy is of this realm, even if its bag is of another one', () => {
    const bag: unknown = runInNewContext(
      '({ at: new Date(5), bytes: new Uint8Array([1]), list: [{ a: 1n }, []], nested: { bare: Object.create(null) } })',
    )
    const copy = copyBag(bag)
    expect(copy).toStrictEqual({
      at: new Date(5),
      bytes: Uint8Array.of(1),
      list: [{ a: 1n }, []],
      nested: { bare: {} },
    })
    expect(() => copyBag({ m: runInNewContext('new Map()') as unknown })).toThrow(/^m cannot.*class Map/)
  })

  test('a copy leaves out undefined properties, and has one NaN for all', () => {
    const odd = new Float64Array(new BigUint64Array([0xfff8_0000_0000_1234n]).buffer)[0] as number
    const copy = copyBag({ a: undefined, n: odd, list: [odd, { b: undefined, c: 1 }] })
    expect(copy).toStrictEqual({ n: NaN, list: [NaN, { c: 1 }] })
    const bits = new Float64Array([copy['n'] as number, (copy['list'] as number[])[0] as number])
    expect(new BigUint64Array(bits.buffer)).toEqual(new BigUint64Array(new Float64Array([NaN, NaN]).buffer))
  })

  test('a copy has nothing of a polluted prototype', () => {
    const polluted = Object.prototype as { added?: unknown }
    // oxlint-disable-next-line no-extend-native -- restored below
    polluted.added = () => 1
    try {
      expect(Object.keys(copyBag({ a: { b: 1 }, c: undefined }))).toEqual(['a'])
    } finally {
      delete polluted.added
    }
  })

  test('a copy is frozen, and copyBag returns it unchanged, but checks objects made of it', () => {
    const copy = copyBag({ a: [1] })
    expect(copyBag(copy)).toBe(copy)
    expect(copyEntity(copy).properties).toBe(copy)
    expect(() => Object.assign(copy, { more: new Map() })).toThrow(TypeError)
    expect(() => copyBag({ ...copy, more: new Map() })).toThrow('class Map')
    expect(structuredClone(copy)).toStrictEqual({ a: [1] })
    expect(copyBag(structuredClone(copy))).not.toBe(copy)
  })
})

describe('an entity with its id', () => {
  test('copyEntity separates the id, unchecked, from the properties', () => {
    const id = Symbol('x')
    expect(copyEntity({ id, a: 1, b: undefined })).toStrictEqual({ id, properties: { a: 1 } })
    expect(copyEntity({ id: undefined, a: 1 })).toStrictEqual({ id: undefined, properties: { a: 1 } })
    expect(copyEntity(copyBag({ id: 'x', a: 1 }))).toStrictEqual({ id: 'x', properties: { a: 1 } })
  })

  test('copyEntity reads the id once, even if the entity hides it', () => {
    let reads = 0
    const entity = {
      get id() {
        return `reads ${++reads} times`
      },
    }
    expect(copyEntity(entity)).toStrictEqual({ id: 'reads 1 times', properties: {} })
    const hiding = new Proxy({ id: 'x', a: 1 }, { has: () => false })
    expect(copyEntity(hiding)).toStrictEqual({ id: 'x', properties: { a: 1 } })
  })
})

describe('deceptive objects', () => {
  const revoked = (target: object): object => {
    const { proxy, revoke } = Proxy.revocable(target, {})
    revoke()
    return proxy
  }
  const detached = new Uint8Array(4)
  structuredClone(detached, { transfer: [detached.buffer] })
  test.each<[string, unknown]>([
    ['a proxy around a Date', new Proxy(new Date(0), {})],
    ['a proxy around bytes', new Proxy(new Uint8Array(2), {})],
    ['an object with the prototype of a Date', Object.create(Date.prototype)],
    ['an object with the prototype of bytes', Object.create(Uint8Array.prototype)],
    ['an object with the prototype of an array', Object.create(Array.prototype)],
    ['detached bytes', detached],
    ['a revoked proxy of an object', revoked({})],
    ['a revoked proxy of an array', revoked([])],
    ['an object whose prototype cannot be read', new Proxy({}, { getPrototypeOf: throwing })],
    ['an object whose properties cannot be read', new Proxy({}, { ownKeys: throwing })],
    ['an array whose length cannot be read', new Proxy([], { get: throwing })],
  ])('checkBag refuses %s, with its path', (_, value) => {
    expect(refusalOf([value])).toMatch(/^a\[0\] cannot be stored: /)
    expect(errorOf(() => checkBag(value)).code).toBe('BAD_PROPERTY')
  })

  function throwing(): never {
    throw new TypeError('hunter2')
  }
})

describe('a getter that throws', () => {
  const failing = {
    get fails() {
      throw new RangeError('hunter2')
    },
  }
  test.each<[unknown, string]>([
    [failing, 'fails'],
    [{ fine: 1, a: [0, failing] }, 'a[1].fails'],
    [{ a: Object.defineProperty([1, 2], 1, { get: () => failing.fails }) }, 'a[1]'],
  ])('a getter that throws is named, and its error is the cause: %#', (bag, path) => {
    const error = errorOf(() => copyBag(bag))
    expect(error.code).toBe('BAD_PROPERTY')
    expect(error.message).toBe(`${path} cannot be stored: reading it throws an error.`)
    expect(error.cause).toBeInstanceOf(RangeError)
  })

  test('a getter that throws only once is reported with the path of its object', () => {
    let reads = 0
    const bag = {
      a: {
        get b() {
          if (reads++ === 0) throw new RangeError('hunter2')
          return 1
        },
      },
    }
    expect(errorOf(() => copyBag(bag)).message).toMatch(/^a cannot be stored: reading it throws/)
  })

  test('a LooseleafError of a getter counts as its failure, not as an error of the store', () => {
    const bag = {
      get a(): never {
        throw errorOf(() => checkBag(null))
      },
    }
    expect(errorOf(() => copyBag(bag)).message).toMatch(/^a cannot be stored: reading it throws/)
  })
})

describe('MAX_VALUES', () => {
  const nulls = (length: number): null[] => Array.from({ length }, () => null)
  const named = (length: number): Bag => Object.fromEntries(nulls(length).map((value, i) => [`p${i}`, value]))
  const bags: readonly (readonly [string, (values: number) => unknown, string])[] = [
    ['properties', named, 'The bag, with 100002 values'],
    ['elements', (values) => ({ a: nulls(values - 1) }), 'a, with 100001 values'],
    [
      'elements of arrays in arrays',
      (values) => ({ a: nulls((values - 2) / 2).map(() => [null]), b: null }),
      'a[',
    ],
    ['properties of objects', (values) => ({ a: nulls((values - 2) / 2).map(() => ({ x: 1 })), b: 1 }), 'a['],
    ['properties of one object', (values) => ({ a: { b: named(values - 2) } }), 'a.b, with 100000 values'],
  ]
  test.each(bags)('MAX_VALUES bounds the number of %s', (_, make, words) => {
    const most = make(MAX_VALUES)
    expect(() => copyBag(most)).not.toThrow()
    const error = errorOf(() => copyBag({ ...(most as Bag), more: null }))
    expect(error.code).toBe('BODY_TOO_LARGE')
    expect(error.message).toContain(
      'limit of 100000 values per bag. An array or object counts as one, plus everything in it.',
    )
    expect(errorOf(() => copyBag(make(MAX_VALUES + 2))).message).toContain(words)
  })

  test('MAX_VALUES does not count undefined properties', () => {
    const sparse = Object.fromEntries(Array.from({ length: MAX_VALUES }, (_, i) => [`u${i}`, undefined]))
    expect(() => copyBag({ ...sparse, in: { ...sparse, list: nulls(MAX_VALUES - 2) } })).not.toThrow()
  })

  test('MAX_VALUES ends the copy of an array that unfolds to 2^60 values', () => {
    let array: PropertyValue = []
    let object: PropertyValue = {}
    for (let i = 0; i < MAX_DEPTH - 3; i++) {
      array = [array, array]
      object = { a: object, b: object }
    }
    for (const bag of [{ array }, { object }]) {
      expect(errorOf(() => copyBag(bag)).code).toBe('BODY_TOO_LARGE')
    }
  })

  test('MAX_VALUES refuses an array of huge length before any element is read', () => {
    const endless = new Proxy([] as unknown[], {
      get(_, name) {
        if (name === 'length') return 2 ** 53
        throw new Error('It was read.')
      },
    })
    expect(errorOf(() => copyBag({ endless })).code).toBe('BODY_TOO_LARGE')
    expect(errorOf(() => copyBag({ holes: Array(4_000_000_000) })).code).toBe('BODY_TOO_LARGE')
  })
})

/** Wraps an object in proxies that count the reads of each value by path. */
function counting(target: object, reads: Map<string, number>, path = ''): object {
  return new Proxy(target, {
    get(object, name, receiver) {
      const valuePath = `${path}.${String(name)}`
      if (!(Array.isArray(object) && !/^\d+$/.test(String(name))))
        reads.set(valuePath, (reads.get(valuePath) ?? 0) + 1)
      const value: unknown = Reflect.get(object, name, receiver)
      return typeof value === 'object' && value !== null ? counting(value, reads, valuePath) : value
    },
  })
}

/** Returns a bag of this depth, counting the bag itself. */
function nested(depth: number): object {
  let bag: object = {}
  for (let i = 1; i < depth; i++) bag = { in: bag }
  return bag
}
