import type { Bag, PropertyValue } from '@looseleaf/core'
import type { SeededRandom } from '../seeded-random.ts'

/** Edge cases of property values, by their descriptions. */
export const edgeValues: Readonly<Record<string, PropertyValue>> = {
  null: null,
  true: true,
  false: false,
  zero: 0,
  'a small negative integer': -1,
  'integers around every width': [
    31, 32, 127, 128, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, -31, -32, -33,
    -128, -129, -32768, -32769, -2147483648, -2147483649,
  ],
  'the safe integers at both ends': [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  'fractions and extreme doubles': [0.1, -1.5, 1e21, 1e300, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE],
  'numbers that are not finite': [NaN, Infinity, -Infinity],
  'bigints that are small': [0n, 1n, -1n, 127n, 255n],
  'bigints around 32, 53 and 64 bits': [
    2n ** 31n,
    2n ** 32n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    2n ** 63n,
    2n ** 64n - 1n,
    -(2n ** 63n),
  ],
  'an empty string': '',
  'strings around every length': [
    'a'.repeat(31),
    'b'.repeat(32),
    'c'.repeat(255),
    'd'.repeat(256),
    'e'.repeat(65536),
  ],
  'strings of two, three and four bytes a character': [
    'é'.repeat(20),
    '€'.repeat(20),
    '𝄞'.repeat(20),
    'aé€𝄞'.repeat(100),
  ],
  'strings with control characters, quotes and a byte order mark': [
    '\0',
    '\u0001\u001f\u007f',
    '"\\/',
    '\ufeffx',
    '\u2028',
  ],
  'dates from one end to the other': [
    new Date(0),
    new Date(1),
    new Date(-1),
    new Date(999),
    new Date(-62135596800000),
    new Date(1235697046123),
    new Date(4294967295000),
    new Date(4294967296000),
    new Date(17179869183999),
    new Date(17179869184000),
    new Date(8.64e15),
    new Date(-8.64e15),
  ],
  'no bytes': new Uint8Array(0),
  'bytes of every value': Uint8Array.from({ length: 256 }, (_, i) => i),
  'bytes around every length': [new Uint8Array(255), new Uint8Array(65535), new Uint8Array(65536)],
  'an empty array and an empty object': [[], {}],
  'arrays around every length': [Array.from({ length: 15 }, () => 1), Array.from({ length: 16 }, () => 2)],
  'arrays in arrays': [[[[]]], [[1], [[2]]]],
  'an object in an object': { a: { b: { c: null } } },
}

/** Names with a meaning in JavaScript or in data formats. Each must work as a property name. */
export const awkwardNames: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1e3',
  'id',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'toJSON',
  'valueOf',
  'length',
  'then',
  '__proto',
  '__proto__x',
  '$',
  '$$',
  '$date',
  '$$date',
  '$bigint',
  '$bytes',
  '$number',
  '$type',
  '$ref',
  '@type',
  'type',
  'data',
  '\0',
  'é',
  '€',
  '𝄞',
  'x'.repeat(31),
  'x'.repeat(32),
  'x'.repeat(33),
  'x'.repeat(300),
  'é'.repeat(16),
]

/** Returns a random bag of up to about a hundred values. */
export function randomBag(random: SeededRandom, depth = 3): { [name: string]: PropertyValue | undefined } {
  const object: { [name: string]: PropertyValue | undefined } = {}
  for (let i = random.integer(7); i > 0; i--) {
    const name = random.integer(3) === 0 ? random.pick(awkwardNames) : randomText(random)
    object[name] = random.integer(20) === 0 ? undefined : randomValue(random, depth)
  }
  return object
}

function randomValue(random: SeededRandom, depth: number): PropertyValue {
  switch (random.integer(depth > 0 ? 10 : 8)) {
    case 0:
      return random.pick([null, true, false])
    case 1:
      return random.integer(2 ** 32) - random.pick([0, 2 ** 31])
    case 2:
      return (random.integer(2 ** 32) - 2 ** 31) / random.pick([3, 1e9, 1e-9])
    case 3:
      return BigInt.asIntN(64, BigInt(random.integer(2 ** 32)) ** 2n)
    case 4:
      return new Date(random.integer(2 ** 32) * random.pick([1, 1000, -1000]))
    case 5:
      return random.bytes(random.integer(40))
    case 6:
    case 7:
      return randomText(random)
    case 8:
      return Array.from({ length: random.integer(5) }, () => randomValue(random, depth - 1))
    default:
      // The result may have undefined properties, as PropertyValue allows.
      return randomBag(random, depth - 1)
  }
}

function randomText(random: SeededRandom): string {
  const alphabet = random.pick(['abcdefghijklmnop_ ', 'aäß€\u0800\uffff', '𝄞😀a'])
  const characters = [...alphabet]
  return Array.from({ length: random.integer(60) }, () => random.pick(characters)).join('')
}

/** Returns the bag that a codec must decode: plain objects, no undefined properties, 0 for -0, bytes as `Uint8Array`. */
export function asDecoded(bag: Bag): { [name: string]: PropertyValue } {
  const decoded: { [name: string]: PropertyValue } = {}
  for (const [name, held] of Object.entries(bag)) if (held !== undefined) decoded[name] = decodedValue(held)
  return decoded
}

function decodedValue(value: PropertyValue): PropertyValue {
  if (typeof value === 'number') return value + 0
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return (value as readonly PropertyValue[]).map(decodedValue)
  return asDecoded(value as Bag)
}
