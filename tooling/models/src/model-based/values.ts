import type { Bag, PropertyValue } from '@looseleaf/core'
import fc from 'fast-check'

/*
 * Small alphabets, so that values collide. They include the values at which encodings, collations, key
 * lengths and number types differ.
 */

const LONG = 'x'.repeat(600)

export const strings: readonly string[] = [
  '',
  ' ',
  'a',
  'a ',
  'A',
  'a\0',
  '\0',
  'á',
  'a\u0301',
  'ä',
  'ß',
  'ss',
  '\u{1f600}',
  '\uffee',
  '%',
  '_',
  "'",
  '\\',
  '\ufeffa',
  // Around the 512 bytes that an index keeps of a string, and longer with the same prefix.
  'x'.repeat(512),
  'x'.repeat(513),
  `${LONG}a`,
  `${LONG}b`,
  'é'.repeat(256),
  'é'.repeat(257),
  // Byte 512 is the first one of a two-byte character.
  `${'x'.repeat(511)}é`,
  `${'x'.repeat(511)}ê`,
]

export const integers: readonly (number | bigint)[] = [
  0,
  -0,
  1,
  1n,
  -1,
  2,
  2 ** 31,
  2n ** 32n,
  Number.MAX_SAFE_INTEGER,
  -(2 ** 53 - 1),
  2n ** 53n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]

export const numbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.30000000000000004,
  1.5,
  2 ** 53,
  1e308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Number.MIN_VALUE,
  1 / 3,
]

export const dates: readonly Date[] = [
  new Date(0),
  new Date(-1),
  new Date(1),
  new Date('2009-02-27T00:00:00.000Z'),
  new Date('2009-02-27T00:00:00.001Z'),
  new Date(8.64e15),
  new Date(-8.64e15),
]

/** The list has one UUID in two spellings. */
export const uuids: readonly string[] = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '0192f0c1-7c1e-7abc-8def-0123456789ab',
  '0192F0C1-7C1E-7ABC-8DEF-0123456789AB',
  '3f333df6-90a4-4fda-8dd3-9485d27cee36',
]

export const booleans: readonly boolean[] = [false, true]

/** Values that a bag can hold but an index on the property cannot. */
const misfits: Readonly<Record<string, readonly PropertyValue[]>> = {
  s: [5, ['a'], true],
  i: [1.5, 2 ** 53, 2n ** 63n, Number.NaN, '1'],
  n: [Number.NaN, Infinity, 1n, '1'],
  b: [0, 'true'],
  t: [1_235_692_800_000, '2009-02-27', [new Date(0)]],
  u: ['0192f0c1', 5],
  tags: ['a', { 0: 'a' }, ['a', 5]],
  times: [new Date(0), [new Date(1), 'x']],
  in: ['a', [{ s: 'a' }], { people: { name: 'a' } }, { people: [{ name: 5 }] }],
}

function property(name: string, usual: fc.Arbitrary<PropertyValue>): fc.Arbitrary<PropertyValue | undefined> {
  return fc.oneof(
    { weight: 30, arbitrary: usual },
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(...(misfits[name] ?? [null])) },
  )
}

const list = (values: readonly PropertyValue[]): fc.Arbitrary<PropertyValue> =>
  fc.array(fc.constantFrom(...values, null), { maxLength: 5 })

/** Values that no index covers; they must come back unchanged. */
const anything: fc.Arbitrary<PropertyValue> = fc.constantFrom<PropertyValue>(
  'note',
  Number.NaN,
  -Infinity,
  2n ** 64n - 1n,
  new Uint8Array([0, 255, 128]),
  new Uint8Array(),
  { deep: [{ er: [null, -0, new Date(5)] }], '': '', $date: 'x' },
  [[], {}, [[]]],
  'y'.repeat(5000),
)

const people = fc.array(
  fc.oneof(
    fc.record({ name: fc.constantFrom<PropertyValue>(...strings, null) }),
    fc.record({ name: list(strings) }),
    anything,
  ),
  { maxLength: 4 },
)

export const bags: fc.Arbitrary<Bag> = fc.record(
  {
    in: property(
      'in',
      fc.record({ s: property('s', fc.constantFrom(...strings)), people }, { requiredKeys: [] }),
    ),
    'in.s': fc.option(property('s', fc.constantFrom(...strings)), { nil: undefined, freq: 1 }),
    s: property('s', fc.constantFrom(...strings)),
    i: property('i', fc.constantFrom(...integers)),
    n: property('n', fc.constantFrom(...numbers)),
    b: property('b', fc.constantFrom(...booleans)),
    t: property('t', fc.constantFrom(...dates)),
    u: property('u', fc.constantFrom(...uuids)),
    tags: property('tags', list(strings)),
    times: property('times', list(dates)),
    other: fc.option(anything, { nil: undefined }),
  },
  { requiredKeys: [] },
)

/** Values to search for, by the type of the indexed property. */
export const alphabets: Readonly<Record<string, readonly (string | number | bigint | boolean | Date)[]>> = {
  string: strings,
  integer: integers,
  number: numbers,
  boolean: booleans,
  time: dates,
  uuid: uuids,
}
