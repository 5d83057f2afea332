import { describe, expect, test } from 'vitest'
import { applyPatch } from './keep-unknown.ts'
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
