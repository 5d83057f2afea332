import type { Case } from './refusals.ts'
import { MARKER, refuses } from './refusals.ts'

/** Bags that one index refuses. The message names the index, the property and the expectation. */
const misfits: readonly (readonly [what: string, bag: object, names: RegExp])[] = [
  ['a number for a string', { name: 5, age: 1, score: 1 }, /by_name: property name: a string/],
  [
    'a Date for a string',
    { name: new Date(0), age: 1, score: 1 },
    /by_name: property name: a string.*a Date/,
  ],
  [
    'bytes for a string',
    { name: Buffer.from(MARKER), age: 1, score: 1 },
    /by_name: property name: a string.*bytes/,
  ],
  [
    'an array for a string',
    { name: [MARKER], age: 1, score: 1 },
    /by_name: property name: a string.*an array/,
  ],
  [
    'an object for a string',
    { name: { in: MARKER }, age: 1, score: 1 },
    /by_name: property name: a string.*an object/,
  ],
  [
    'a boolean for a string',
    { name: false, age: 1, score: 1 },
    /by_name: property name: a string.*a boolean/,
  ],
  [
    'a string for a later property',
    { name: MARKER, age: MARKER, score: 1 },
    /by_name: property age: a whole number/,
  ],
  ['a fraction for an integer', { age: 1.5 }, /by_age: property age: .*not whole/],
  ['NaN for an integer', { age: Number.NaN }, /by_age: property age: .*not whole/],
  ['infinity for an integer', { age: Infinity }, /by_age: property age: .*not whole/],
  ['2^53 for an integer', { age: 2 ** 53 }, /by_age: property age: .*greater number/],
  ['-2^53 for an integer', { age: -(2 ** 53) }, /by_age: property age: .*greater number/],
  ['1e300 for an integer', { age: 1e300 }, /by_age: property age: .*greater number/],
  ['2^63 as a bigint', { age: 2n ** 63n }, /by_age: property age: .*greater bigint/],
  ['the greatest bigint that a bag holds', { age: 2n ** 64n - 1n }, /by_age: property age: .*greater bigint/],
  ['digits for an integer', { age: '5' }, /by_age: property age: .*a string of 1/],
  ['true for an integer', { age: true }, /by_age: property age: .*a boolean/],
  ['a Date for an integer', { age: new Date(0) }, /by_age: property age: .*a Date/],
  ['an array for an integer', { age: [1] }, /by_age: property age: .*an array/],
  ['NaN for a number', { score: Number.NaN }, /by_score: property score: a finite number.*NaN/],
  ['infinity for a number', { score: Infinity }, /by_score: property score: a finite number.*Infinity/],
  ['minus infinity for a number', { score: -Infinity }, /by_score: property score: a finite number/],
  ['a bigint for a number', { score: 5n }, /by_score: property score: a finite number.*a bigint/],
  ['digits for a number', { score: '1.5' }, /by_score: property score: a finite number.*a string/],
  ['false for a number', { score: false }, /by_score: property score: a finite number.*a boolean/],
  ['0 for a boolean', { on: 0 }, /by_flag: property on: true or false.*a number/],
  ['1n for a boolean', { on: 1n }, /by_flag: property on: true or false.*a bigint/],
  ['a word for a boolean', { on: 'true' }, /by_flag: property on: true or false.*a string/],
  ['an array for a boolean', { on: [true] }, /by_flag: property on: true or false.*an array/],
  ['milliseconds for a time', { at: 1_235_692_800_000 }, /by_time: property at: a valid Date.*a number/],
  ['microseconds for a time', { at: 1_235_692_800_000_000n }, /by_time: property at: a valid Date.*a bigint/],
  [
    'an ISO text for a time',
    { at: '2009-02-27T00:00:00.000Z' },
    /by_time: property at: a valid Date.*a string/,
  ],
  ['an object for a time', { at: { $date: 0 } }, /by_time: property at: a valid Date.*an object/],
  ['a name for a uuid', { owner: MARKER }, /by_owner: property owner: a UUID string/],
  ['an empty string for a uuid', { owner: '' }, /by_owner: property owner: a UUID string/],
  [
    'a uuid without hyphens',
    { owner: '0192f0c17c1e7abc8def0123456789ab' },
    /by_owner: property owner: a UUID string/,
  ],
  ['16 bytes for a uuid', { owner: new Uint8Array(16) }, /by_owner: property owner: a UUID string.*16 bytes/],
  ['a number for a uuid', { owner: 5 }, /by_owner: property owner: a UUID string.*a number/],
  ['a string for an array', { tags: MARKER }, /by_tag: property tags: an array.*a string/],
  [
    'an object for an array',
    { tags: { 0: MARKER, length: 1 } },
    /by_tag: property tags: an array.*an object/,
  ],
  ['bytes for an array', { ages: new Uint8Array([1, 2]) }, /by_ages: property ages: an array.*2 bytes/],
  ['a number among strings', { tags: [MARKER, 5] }, /by_tag: property tags: element 1/],
  ['an array among strings', { tags: [[MARKER]] }, /by_tag: property tags: element 0/],
  ['a fraction among integers', { ages: [1, 2, 2.5] }, /by_ages: property ages: element 2/],
  ['2^63 among integers', { ages: [2n ** 63n] }, /by_ages: property ages: element 0/],
  [
    '1,001 different elements',
    { ages: Array.from({ length: 1001 }, (_, i) => i) },
    /by_ages: property ages: at most 1000/,
  ],
]

refuses(
  'what an index cannot hold, in a put',
  misfits.map(([what, bag, names]): Case => [what, ({ store }) => store.put(bag), 'BAD_INDEX_VALUE', names]),
)

refuses(
  'what an index cannot hold, in an update',
  misfits.map(([what, bag, names]): Case => [
    what,
    ({ store, id }) => store.update(id, () => bag),
    'BAD_INDEX_VALUE',
    names,
  ]),
)
