import { describe, expect, test } from 'vitest'
import { agrees, applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'
import { unset } from './unset.ts'

describe('a patch', () => {
  test.each([
    ['changes the named properties', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: 3 }, { a: 3, b: 2 }],
    ['removes a property by `unset`', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: unset }, { b: 2 }],
    ['keeps an unknown property', { a: 1, x: 9 }, { a: 1 }, { a: 3 }, { a: 3, x: 9 }],
    [
      'keeps the unknown properties of an object with the same id',
      { o: { id: 1, a: 1, x: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 1, a: 3 } },
      { o: { id: 1, a: 3, x: 9 } },
    ],
    [
      'keeps the unknown properties of an object with equal known values in any order',
      { o: { a: 1, b: 2, x: 9 } },
      { o: { a: 1, b: 2 } },
      { o: { b: 2, a: 1 } },
      { o: { a: 1, b: 2, x: 9 } },
    ],
    [
      'does not carry unknown properties to an object with another id',
      { o: { id: 1, a: 1, x: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 2, a: 1 } },
      { o: { id: 2, a: 1 } },
    ],
    [
      'does not carry unknown properties to an object without an id if a known value differs',
      { o: { a: 1, b: 2, x: 9 } },
      { o: { a: 1, b: 2 } },
      { o: { a: 1, b: 3 } },
      { o: { a: 1, b: 3 } },
    ],
    [
      'does not carry unknown properties into another object',
      { o: { id: 1, p: { a: 1, x: 9 } } },
      { o: { id: 1, p: { a: 1 } } },
      { o: { id: 2, p: { a: 1 } } },
      { o: { id: 2, p: { a: 1 } } },
    ],
    [
      'keeps unknown properties within an object with the same id',
      { o: { id: 1, a: 1, p: { a: 1, x: 9 } } },
      { o: { id: 1, a: 1, p: { a: 1 } } },
      { o: { id: 1, a: 2, p: { a: 1 } } },
      { o: { id: 1, a: 2, p: { a: 1, x: 9 } } },
    ],
    [
      'keeps the unknown properties of elements with ids that have moved and changed',
      {
        l: [
          { id: 1, a: 1, x: 7 },
          { id: 2, a: 2, x: 8 },
          { id: 3, a: 3 },
        ],
      },
      {
        l: [
          { id: 1, a: 1 },
          { id: 2, a: 2 },
          { id: 3, a: 3 },
        ],
      },
      {
        l: [
          { id: 3, a: 3 },
          { id: 2, a: 9 },
          { id: 4, a: 1 },
        ],
      },
      {
        l: [
          { id: 3, a: 3 },
          { id: 2, a: 9, x: 8 },
          { id: 4, a: 1 },
        ],
      },
    ],
    [
      'distinguishes elements with the same id by their other values',
      {
        l: [
          { id: 1, a: 1, x: 7 },
          { id: 1, a: 2, x: 8 },
        ],
      },
      {
        l: [
          { id: 1, a: 1 },
          { id: 1, a: 2 },
        ],
      },
      {
        l: [
          { id: 1, a: 2 },
          { id: 1, a: 3 },
        ],
      },
      {
        l: [
          { id: 1, a: 2, x: 8 },
          { id: 1, a: 3 },
        ],
      },
    ],
    [
      'carries no unknown properties of elements that look alike if one of them is missing',
      {
        l: [
          { a: 1, x: 8 },
          { a: 1, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1 }] },
    ],
    [
      'recognizes an element that an edit has copied',
      { l: [{ a: 1, x: 8 }, { a: 1 }] },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1 }] },
    ],
    [
      'removes a known property within an object',
      { o: { a: 1, b: 2 } },
      { o: { a: 1, b: 2 } },
      { o: { a: 1 } },
      { o: { a: 1 } },
    ],
    ['replaces an object by another value', { o: { a: 1, x: 9 } }, { o: { a: 1 } }, { o: 7 }, { o: 7 }],
    [
      'keeps the unknown properties of elements that have moved',
      {
        l: [
          { a: 1, x: 8 },
          { a: 2, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 2 }] },
      { l: [{ a: 2 }] },
      { l: [{ a: 2, x: 9 }] },
    ],
    [
      'does not carry unknown properties to another element in the same position',
      {
        l: [
          { a: 1, x: 8 },
          { a: 2, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 2 }] },
      { l: [{ a: 1 }, { a: 3 }] },
      { l: [{ a: 1, x: 8 }, { a: 3 }] },
    ],
    [
      'matches elements that look alike by their positions',
      {
        l: [
          { a: 1, x: 8 },
          { a: 1, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }, { a: 1 }, { a: 2 }] },
      { l: [{ a: 1, x: 8 }, { a: 1, x: 9 }, { a: 2 }] },
    ],
    [
      'keeps the unknown properties of equal elements of which one is missing',
      {
        l: [
          { a: 1, x: 8 },
          { a: 1, x: 8 },
        ],
      },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1, x: 8 }] },
    ],
    [
      'matches elements that look alike by their positions first, and the others by their order',
      {
        l: [
          { a: 1, x: 8 },
          { a: 1, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ b: 2 }, { a: 1 }, { a: 1 }] },
      { l: [{ b: 2 }, { a: 1, x: 9 }, { a: 1, x: 8 }] },
    ],
    [
      'gives the unknown properties of an element to the one in its position, if two look like it',
      { l: [{ a: 2 }, { a: 1, x: 8 }] },
      { l: [{ a: 2 }, { a: 1 }] },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }, { a: 1, x: 8 }] },
    ],
    [
      'keeps the unknown properties of objects that come without a default, too',
      { o: { a: 1, x: 9 }, l: [{ a: 1, x: 8 }] },
      { o: { a: 1, b: 0 }, l: [{ a: 1, b: 0 }] },
      { o: { a: 1 }, l: [{ a: 1 }] },
      { o: { a: 1, x: 9 }, l: [{ a: 1, x: 8 }] },
    ],
    [
      'does not carry unknown properties of a moved element to a new one',
      { l: [{ a: 1, x: 8 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 2 }, { a: 1 }] },
      { l: [{ a: 2 }, { a: 1, x: 8 }] },
    ],
    [
      'does not carry unknown properties from an array to an object',
      { l: [{ a: 1, x: 8 }] },
      { l: [{ a: 1 }] },
      { l: { 0: { a: 1 } } },
      { l: { 0: { a: 1 } } },
    ],
    [
      'does not carry unknown properties from an object to an array',
      { l: { a: 1, x: 8 } },
      { l: { a: 1 } },
      { l: [{ a: 1 }] },
      { l: [{ a: 1 }] },
    ],
    [
      'keeps unknown properties with names of Object.prototype',
      { o: { id: 1, a: 1, valueOf: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 1, a: 3 } },
      { o: { id: 1, a: 3, valueOf: 9 } },
    ],
  ])('a patch %s', (_, stored, shown, patch, expected) => {
    expect(applyPatch(stored, shown, patch)).toEqual(expected)
  })
})

test('a patch cannot change a prototype', () => {
  const patch = JSON.parse(
    '{"n":2,"__proto__":{"role":"admin"},"o":{"__proto__":{"role":"admin"}}}',
  ) as object
  const patched = applyPatch({ n: 1, o: { x: 1 } }, { n: 1, o: {} }, patch as Record<string, unknown>)
  expect(patched['role']).toBeUndefined()
  // It stays an own property, which the store refuses.
  expect(Object.hasOwn(patched, '__proto__')).toBe(true)
  expect((patched['o'] as Record<string, unknown>)['role']).toBeUndefined()
})

test('a patch of 20,000 moved elements takes less than the timeout of a test', () => {
  const stored = Array.from({ length: 20_000 }, (_, a) => ({ a, x: a }))
  const known = stored.map(({ a }) => ({ a }))
  const result = applyPatch({ l: stored }, { l: known }, { l: [{ a: -1 }, ...known] })
  expect(result['l']).toEqual([{ a: -1 }, ...stored])
})

describe('the output of a schema', () => {
  test.each([
    ['gets an unknown property', { a: 1, x: 9 }, { a: 1 }, { a: 2, x: 9 }, { a: 2 }, { a: 2, x: 9 }],
    [
      'does not get a new property that the schema leaves out',
      { a: 1 },
      { a: 1 },
      { a: 2, x: 9 },
      { a: 2 },
      { a: 2 },
    ],
    [
      'does not get a known property that the schema leaves out',
      { a: 1, b: 1 },
      { a: 1, b: 1 },
      { a: 2, b: 1 },
      { a: 2 },
      { a: 2 },
    ],
    [
      'gets unknown properties within objects',
      { o: { a: 1, x: 9 } },
      { o: { a: 1 } },
      { o: { a: 2, x: 9 } },
      { o: { a: 2 } },
      { o: { a: 2, x: 9 } },
    ],
    [
      'gets unknown properties within elements',
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}, {}] },
      { l: [{ x: 9 }] },
      { l: [{}] },
      { l: [{ x: 9 }] },
    ],
    [
      'gets unknown properties within elements of which some have them',
      { l: [{ o: { x: 9 } }, { o: {} }], n: 1 },
      { l: [{ o: {} }, { o: {} }], n: 1 },
      { l: [{ o: { x: 9 } }, { o: {} }], n: 2 },
      { l: [{ o: {} }, { o: {} }], n: 2 },
      { l: [{ o: { x: 9 } }, { o: {} }], n: 2 },
    ],
    [
      'gets unknown properties within arrays of arrays',
      { l: [[{ x: 9 }], []] },
      { l: [[{}], []] },
      { l: [[{ x: 9 }], []] },
      { l: [[{}], []] },
      { l: [[{ x: 9 }], []] },
    ],
    [
      'gets unknown properties with names of Object.prototype',
      { a: 1, constructor: 9 },
      { a: 1 },
      { a: 2, constructor: 9 },
      { a: 2 },
      { a: 2, constructor: 9 },
    ],
    [
      'keeps values of other kinds',
      { d: new Date(0) },
      { d: new Date(0) },
      { d: new Date(1) },
      { d: new Date(1) },
      { d: new Date(1) },
    ],
    [
      'gets the unknown properties of elements that the schema has sorted and cut',
      {
        l: [
          { a: 1, x: 7 },
          { a: 2, x: 8 },
          { a: 3, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 2 }, { a: 3 }] },
      {
        l: [
          { a: 3, x: 9 },
          { a: 2, x: 8 },
          { a: 1, x: 7 },
        ],
      },
      { l: [{ a: 1 }, { a: 3 }] },
      {
        l: [
          { a: 1, x: 7 },
          { a: 3, x: 9 },
        ],
      },
    ],
    [
      'gets unknown properties within elements with defaults',
      { l: [{ a: 1, x: 9 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1, x: 9 }] },
      { l: [{ a: 1, b: 0 }] },
      { l: [{ a: 1, b: 0, x: 9 }] },
    ],
    [
      'gets the unknown properties of moved elements with objects that have none',
      {
        l: [
          { a: 1, x: 7, o: { b: 1 } },
          { a: 2, o: { b: 2 } },
        ],
      },
      {
        l: [
          { a: 1, o: { b: 1 } },
          { a: 2, o: { b: 2 } },
        ],
      },
      {
        l: [
          { a: 1, x: 7, o: { b: 1 } },
          { a: 2, o: { b: 2 } },
        ],
      },
      {
        l: [
          { a: 2, o: { b: 2 } },
          { a: 1, o: { b: 1 } },
        ],
      },
      {
        l: [
          { a: 2, o: { b: 2 } },
          { a: 1, x: 7, o: { b: 1 } },
        ],
      },
    ],
    [
      'gets nothing of a list within a list that the schema has sorted',
      { l: [[{ a: 1, x: 7 }, { a: 2 }]] },
      { l: [[{ a: 1 }, { a: 2 }]] },
      { l: [[{ a: 1, x: 7 }, { a: 2 }]] },
      { l: [[{ a: 2 }, { a: 1 }]] },
      { l: [[{ a: 2 }, { a: 1 }]] },
    ],
    [
      'stays if it is no list any more',
      { l: [{ a: 1, x: 7 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1, x: 7 }] },
      { l: 'a' },
      { l: 'a' },
    ],
    [
      'keeps its own value under a name that was unknown before',
      { a: 1, x: { b: 1 } },
      { a: 1 },
      { a: 2, x: { b: 1 } },
      { a: 2, x: { b: 5 } },
      { a: 2, x: { b: 5 } },
    ],
    [
      'stays cut if the missing elements cannot be identified',
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}, {}] },
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}] },
      { l: [{}] },
    ],
  ])('the output of a schema %s', (_, stored, known, full, output, expected) => {
    expect(withUnknown(unknownOf(stored, known), full, output)).toEqual(expected)
  })
})

test('an object in the place of a stored value that is none gets no unknown names', () => {
  const unknown = unknownOf({ o: { a: 1, x: 9 } }, { o: { a: 1 } })
  expect(withUnknown(unknown, { o: null }, { o: { a: 1 } })).toEqual({ o: { a: 1 } })
})

test.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: 2 }, { a: 1, c: 3 }, true],
  [{ a: 1, b: 2 }, { a: 1, b: 3 }, false],
  [[1, { a: 1 }], [1, { b: 2 }], true],
  [[1, 2], [1, 3], false],
  [[1], [1, 2], false],
  [{ valueOf: 1 }, {}, true],
  [{}, [], false],
  [[], {}, false],
  [{}, 5, false],
  [5, 5, true],
])('the output %j for %j agrees: %s', (output, full, isAgreed) => {
  expect(agrees(output, full)).toBe(isAgreed)
})
