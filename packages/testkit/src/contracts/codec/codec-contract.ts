import { deepStrictEqual } from 'node:assert/strict'
import type { Bag, Codec, PropertyValue } from '@looseleaf/core'
import { describeKind, MAX_DEPTH, MAX_VALUES } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { seededRandom } from '../seeded-random.ts'
import type { TestFunctions } from '../test-functions.ts'
import { codeOf, errorOf } from '../thrown.ts'
import { asDecoded, awkwardNames, edgeValues, randomBag } from './sample-bags.ts'

export interface CodecContractOptions {
  /** Limit of the codec in bytes. A bag of twice as many bytes must be rejected. Default: 8 MiB. */
  readonly maxBodyBytes?: number | undefined
  /**
   * Returns a body with the bag `{ a: [[], [], …] }`, with this number of empty arrays. It cannot use `encode`, which rejects such a bag.
   * Default: none, and the test of reading such a body is skipped.
   */
  readonly bodyOfArrays?: ((count: number) => Uint8Array) | undefined
}

/**
 * Defines the tests of every codec. Call it at the top of a test file. `makeCodec` is called for each test, and returns a codec in the
 * configuration of its use. The tests are the same in every run.
 */
export function codecContract(
  runner: TestFunctions,
  name: string,
  makeCodec: () => Codec,
  options: CodecContractOptions = {},
): void {
  const { describe } = runner
  const test = (title: string, body: (codec: Codec) => void): unknown =>
    runner.test(title, () => body(makeCodec()))
  const maxBodyBytes = options.maxBodyBytes ?? 8 * 1024 * 1024

  describe(`${name} keeps the codec contract`, () => {
    describe('every bag comes back', () => {
      for (const [kind, held] of Object.entries(edgeValues))
        test(`a property with ${kind} comes back`, () => expectRoundTrip(makeCodec(), { held }))

      test('an empty bag has a body that is not empty, and comes back', (codec) => {
        expect(codec.encode({}).length).toBeGreaterThan(0)
        expectRoundTrip(codec, {})
      })

      for (const awkward of awkwardNames) {
        test(`a property named ${JSON.stringify(awkward)} comes back, at the top and nested`, (codec) => {
          for (const value of ['text', 7, null, new Date(5), { [awkward]: 1n }, [{ [awkward]: 'x' }]]) {
            expectRoundTrip(codec, { [awkward]: value })
            expectRoundTrip(codec, { nested: { [awkward]: value }, other: { [awkward]: value, b: 1 } })
          }
        })
      }

      test('a bag with all awkward names comes back', () => {
        expectRoundTrip(makeCodec(), Object.fromEntries(awkwardNames.map((awkward, i) => [awkward, i])))
      })

      test('undefined properties are omitted', (codec) => {
        const decoded = codec.decode(codec.encode({ a: undefined, b: { c: undefined, d: 1 } }))
        expect(decoded).toStrictEqual({ b: { d: 1 } })
      })

      test('-0 comes back as 0', (codec) => {
        expect(codec.decode(codec.encode({ a: -0, b: [-0] }))).toStrictEqual({ a: 0, b: [0] })
      })

      test('objects without a prototype come back as plain objects', (codec) => {
        const bare: Bag = Object.assign(Object.create(null) as Bag, { a: 1 })
        expect(codec.decode(codec.encode({ bare }))).toStrictEqual({ bare: { a: 1 } })
      })

      test('bytes of every kind come back as a Uint8Array with its own memory', (codec) => {
        const body = codec.encode({
          a: Buffer.from([1, 2, 3]),
          b: new Uint8Array([0, 4, 5, 0]).subarray(1, 3),
        })
        const { a, b } = codec.decode(body)
        body.fill(0)
        for (const [bytes, expected] of [
          [a, [1, 2, 3]],
          [b, [4, 5]],
        ] as const) {
          expect(bytes).toBeInstanceOf(Uint8Array)
          expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype)
          expect((bytes as Uint8Array).buffer.byteLength).toBe(expected.length)
          expect([...(bytes as Uint8Array)]).toEqual(expected)
        }
      })

      test('values nested to the limit come back', (codec) => {
        expectRoundTrip(codec, nestedObjects(MAX_DEPTH))
        expectRoundTrip(codec, nestedArrays(MAX_DEPTH))
      })

      test('more than 65,536 properties or elements come back', (codec) => {
        expectRoundTrip(codec, Object.fromEntries(Array.from({ length: 66_000 }, (_, i) => [`p${i}`, i])))
        expectRoundTrip(codec, { many: Array.from({ length: 66_000 }, (_, i) => i) })
      })

      test('thousands of short texts come back', (codec) => {
        for (const length of [1, 15, 31, 40, 48, 49, 64, 65]) {
          const text = (i: number): string => String(i).padStart(length, 'x')
          expectRoundTrip(
            codec,
            Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [text(i), text(-i)])),
          )
        }
      })

      test('long texts and long bytes come back', (codec) => {
        expectRoundTrip(codec, { text: '€uro '.repeat(200_000), bytes: seededRandom(3).bytes(500_000) })
      })

      test('a thousand random bags come back', (codec) => {
        const random = seededRandom(20090227)
        for (let i = 0; i < 1000; i++) expectRoundTrip(codec, randomBag(random))
      })
    })

    describe('bodies are independent', () => {
      test('a body does not change while others are encoded', (codec) => {
        const body = codec.encode({ first: 'a'.repeat(100) })
        const before = Uint8Array.from(body)
        for (let i = 0; i < 50; i++) codec.encode({ other: 'b'.repeat(i * 10) })
        expect(Uint8Array.from(body)).toStrictEqual(before)
      })

      test('another instance reads a body from the middle of a buffer', () => {
        const body = makeCodec().encode(sample)
        const memory = new Uint8Array(body.length + 20).fill(255)
        memory.set(body, 7)
        expect(makeCodec().decode(memory.subarray(7, 7 + body.length))).toStrictEqual(asDecoded(sample))
      })

      test('encoding does not change the bag, and decoding does not change the body', (codec) => {
        const bag = { list: [1, { a: undefined }], bytes: new Uint8Array([1]) }
        const body = codec.encode(bag)
        expect(bag).toStrictEqual({ list: [1, { a: undefined }], bytes: new Uint8Array([1]) })
        const before = Uint8Array.from(body)
        codec.decode(body)
        expect(Uint8Array.from(body)).toStrictEqual(before)
      })
    })

    describe('a bag that cannot come back is rejected', () => {
      for (const [kind, value] of refused) {
        test(`${kind} in a bag is BAD_PROPERTY with its path`, () => {
          // The types forbid these values, but a caller in JavaScript can pass them.
          const bag = { outer: [{ inner: value }] } as unknown as Bag
          expect(codeOf(() => makeCodec().encode(bag))).toBe('BAD_PROPERTY')
          expect(messageOf(() => makeCodec().encode(bag))).toContain('outer[0].inner')
        })
      }

      for (const value of [null, undefined, 1, 'text', [], new Date(0), new Map()]) {
        test(`${describeKind(value)} in place of a bag is BAD_PROPERTY`, () => {
          expect(codeOf(() => makeCodec().encode(value as unknown as Bag))).toBe('BAD_PROPERTY')
        })
      }

      test('values nested deeper than the limit, and circular ones, are BAD_PROPERTY', () => {
        const circle: Record<string, unknown> = {}
        circle['self'] = circle
        for (const bag of [nestedObjects(MAX_DEPTH + 1), nestedArrays(MAX_DEPTH + 1), circle as Bag]) {
          expect(codeOf(() => makeCodec().encode(bag))).toBe('BAD_PROPERTY')
        }
      })

      for (const [kind, bagOf] of Object.entries(full)) {
        test(`a bag of more than MAX_VALUES values, as ${kind}, is BODY_TOO_LARGE`, () => {
          const bag = { ...bagOf(MAX_VALUES - 1), more: null }
          expectRoundTrip(makeCodec(), bag)
          expect(codeOf(() => makeCodec().encode({ ...bag, another: null }))).toBe('BODY_TOO_LARGE')
        })
      }

      test('a bag above the limit of bytes is BODY_TOO_LARGE', () => {
        // The repetitions are too far apart for zlib to find.
        const block = seededRandom(5).bytes(256 * 1024)
        const blocks = Array.from({ length: Math.ceil((maxBodyBytes * 2) / block.length) }, () => block)
        const bag = { bytes: Buffer.concat(blocks) }
        expect(codeOf(() => makeCodec().encode(bag))).toBe('BODY_TOO_LARGE')
      })
    })

    describe('a damaged body is never decoded', () => {
      const bodies = (codec: Codec): Uint8Array[] => [
        codec.encode({}),
        codec.encode(sample),
        codec.encode(large),
      ]

      test('a body cut short at any byte is rejected', (codec) => {
        for (const body of bodies(codec)) {
          for (let length = 0; length < body.length; length++) expectRefusal(codec, body.subarray(0, length))
        }
      })

      test('a body with more bytes after it is rejected', (codec) => {
        for (const body of bodies(codec)) {
          for (const more of [[0], [0xc0], [0x20], [...body]]) {
            expectRefusal(codec, Uint8Array.from([...body, ...more]))
          }
        }
      })

      test('a body with any one bit changed is rejected', (codec) => {
        for (const body of bodies(codec)) {
          for (let bit = 0; bit < body.length * 8; bit++) {
            const changed = Uint8Array.from(body)
            changed[bit >> 3]! ^= 1 << (bit & 7)
            expectRefusal(codec, changed)
          }
        }
      })

      test('bodies with thousands of random changes are rejected', (codec) => {
        const random = seededRandom(77)
        const originals = bodies(codec)
        for (let i = 0; i < 5000; i++) {
          const original = random.pick(originals)
          const changed = Uint8Array.from(original)
          for (let changes = 1 + random.integer(8); changes > 0; changes--) {
            changed[random.integer(changed.length)]! ^= 1 + random.integer(255)
          }
          // Two changes may cancel each other.
          if (Buffer.compare(changed, original) === 0) continue
          expectRefusal(codec, changed)
        }
      })

      test('random bytes, and equal bytes, are rejected', (codec) => {
        const random = seededRandom(99)
        for (let i = 0; i < 2000; i++) expectRefusal(codec, random.bytes(random.integer(100)))
        for (let byte = 0; byte < 256; byte++) expectRefusal(codec, new Uint8Array(64).fill(byte))
      })

      test('error messages contain no stored values', (codec) => {
        const secret = 'correct-horse-battery'
        const body = codec.encode({ note: secret, more: secret.repeat(100) })
        for (let i = 0; i < body.length; i++) {
          const changed = Uint8Array.from(body)
          changed[i]! ^= 0x10
          expect(messageOf(() => codec.decode(changed))).not.toContain('horse')
        }
        expect(messageOf(() => codec.encode({ note: `${secret}\ud800` }))).not.toContain('horse')
      })
    })

    const { bodyOfArrays } = options
    if (bodyOfArrays === undefined) {
      runner.test.skip('a body of more than MAX_VALUES values (left out: no bodyOfArrays)', () => undefined)
    } else {
      test('a body of more than MAX_VALUES values is BODY_TOO_LARGE, and one of exactly as many is read', (codec) => {
        expect(codec.decode(bodyOfArrays(MAX_VALUES - 1))['a']).toHaveLength(MAX_VALUES - 1)
        for (const count of [MAX_VALUES, MAX_VALUES * 20]) {
          expect(codeOf(() => codec.decode(bodyOfArrays(count)))).toBe('BODY_TOO_LARGE')
        }
      })
    }

    test('a codec has a name', () => {
      expect(makeCodec().name).not.toBe('')
    })
  })
}

const sample: Bag = {
  title: 'We just launched a new backend',
  body: 'Wörter – words '.repeat(8),
  published: new Date(1235697046123),
  likes: 12,
  serial: 9007199254740993n,
  hash: Uint8Array.from({ length: 20 }, (_, i) => i * 11),
  tags: ['mysql', 'schema-less'],
  extra: { rating: 4.5, hidden: false, source: null },
}

/** A bag that every codec with compression compresses. */
const large: Bag = { text: 'It was stored, and it came back. '.repeat(35), rows: [7, 7, 7] }

/** Functions that return a bag of this many values. */
const full: Readonly<Record<string, (values: number) => Bag>> = {
  elements: (values) => ({ a: Array.from({ length: values - 1 }, () => 0) }),
  properties: (values) => Object.fromEntries(Array.from({ length: values }, (_, i) => [`p${i}`, i])),
  'Dates, bytes and bigints': (values) => ({
    a: Array.from({ length: values - 1 }, (_, i) => [new Date(i), new Uint8Array(0), 1n][i % 3]!),
  }),
  'objects in arrays': (values) => ({
    a: Array.from({ length: Math.floor((values - 2) / 3) }, (_, i) => ({ $x: i, y: [] })),
    b: Array.from({ length: (values - 2) % 3 }, () => 0),
  }),
}

const refused: readonly (readonly [string, unknown])[] = [
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a Map', new Map([['a', 1]])],
  ['a Set', new Set([1])],
  ['a RegExp', /x/],
  [
    'an instance of a class',
    new (class Point {
      x = 1
    })(),
  ],
  ['an invalid Date', new Date(NaN)],
  ['a bigint of 65 bits', 2n ** 64n],
  ['a negative bigint of 65 bits', -(2n ** 63n) - 1n],
  ['a string with a lone surrogate', 'a\ud800b'],
  ['a typed array of other elements', new Float64Array(2)],
  ['an ArrayBuffer', new ArrayBuffer(8)],
  ['an array with a hole', [1, , 3]], // oxlint-disable-line no-sparse-arrays
  ['an array that holds undefined', [undefined]],
  ['an object with a property named __proto__', JSON.parse('{"__proto__":1}')],
  ['an object with a symbol for a name', { [Symbol('x')]: 1 }],
  ['an object with a lone surrogate in a name', { 'a\udc00': 1 }],
]

function nestedObjects(depth: number): Bag {
  let bag: Bag = {}
  for (let i = 1; i < depth; i++) bag = { in: bag as PropertyValue }
  return bag
}

function nestedArrays(depth: number): Bag {
  let array: PropertyValue = []
  for (let i = 2; i < depth; i++) array = [array]
  return { in: array }
}

function expectRoundTrip(codec: Codec, bag: Bag): void {
  // Vitest's comparison would take a property named `constructor` for the class of its object.
  deepStrictEqual(codec.decode(codec.encode(bag)), asDecoded(bag))
}

function expectRefusal(codec: Codec, body: Uint8Array): void {
  const code = codeOf(() => codec.decode(body))
  // Changed bytes may name a format that the codec does not know.
  if (code === 'BODY_DAMAGED' || code === 'BODY_UNKNOWN') return
  throw new Error(`A damaged body must be BODY_DAMAGED or BODY_UNKNOWN; got ${code}.`)
}

function messageOf(run: () => unknown): string {
  const messages: string[] = []
  for (let error = errorOf(run); error instanceof Error; error = error.cause) messages.push(error.message)
  return messages.join('\n')
}
