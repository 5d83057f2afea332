import { describe, expect, test } from 'vitest'
import { applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'
import { unset } from './unset.ts'

describe('a patch', () => {
  test.each([
    ['names what changes', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: 3 }, { a: 3, b: 2 }],
    ['removes a property by `unset`', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: unset }, { b: 2 }],
    ['keeps what was not shown', { a: 1, x: 9 }, { a: 1 }, { a: 3 }, { a: 3, x: 9 }],
    [
      'keeps unknown data of an object with the same id',
      { o: { id: 1, a: 1, x: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 1, a: 3 } },
      { o: { id: 1, a: 3, x: 9 } },
    ],
    [
      'keeps unknown data of an object whose known values are equal, whatever their order',
      { o: { a: 1, b: 2, x: 9 } },
      { o: { a: 1, b: 2 } },
      { o: { b: 2, a: 1 } },
      { o: { a: 1, b: 2, x: 9 } },
    ],
    [
      'gives an object with another id nothing of the one before',
      { o: { id: 1, a: 1, x: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 2, a: 1 } },
      { o: { id: 2, a: 1 } },
    ],
    [
      'gives an object without an id nothing where a known value differs',
      { o: { a: 1, b: 2, x: 9 } },
      { o: { a: 1, b: 2 } },
      { o: { a: 1, b: 3 } },
      { o: { a: 1, b: 3 } },
    ],
    [
      'gives objects in another object nothing',
      { o: { id: 1, p: { a: 1, x: 9 } } },
      { o: { id: 1, p: { a: 1 } } },
      { o: { id: 2, p: { a: 1 } } },
      { o: { id: 2, p: { a: 1 } } },
    ],
    [
      'keeps unknown data of objects in an object with the same id',
      { o: { id: 1, a: 1, p: { a: 1, x: 9 } } },
      { o: { id: 1, a: 1, p: { a: 1 } } },
      { o: { id: 1, a: 2, p: { a: 1 } } },
      { o: { id: 1, a: 2, p: { a: 1, x: 9 } } },
    ],
    [
      'keeps unknown data of elements with ids that have moved and changed',
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
      'tells elements of one id apart by their other values',
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
      'gives nothing of elements that look alike where one of them is gone',
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
      'takes an element that a function has copied for the stored one',
      { l: [{ a: 1, x: 8 }, { a: 1 }] },
      { l: [{ a: 1 }, { a: 1 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1 }] },
    ],
    [
      'removes within objects what was shown',
      { o: { a: 1, b: 2 } },
      { o: { a: 1, b: 2 } },
      { o: { a: 1 } },
      { o: { a: 1 } },
    ],
    ['gives another value', { o: { a: 1, x: 9 } }, { o: { a: 1 } }, { o: 7 }, { o: 7 }],
    [
      'keeps it in elements that have moved',
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
      'gives an element that stands in the place of another nothing of it',
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
      'takes each of elements that look alike for itself',
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
      'gives a new element nothing of one that has moved',
      { l: [{ a: 1, x: 8 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 2 }, { a: 1 }] },
      { l: [{ a: 2 }, { a: 1, x: 8 }] },
    ],
    [
      'gives a list that is none any more nothing of what was there',
      { l: [{ a: 1, x: 8 }] },
      { l: [{ a: 1 }] },
      { l: { 0: { a: 1 } } },
      { l: { 0: { a: 1 } } },
    ],
    [
      'gives what was no list nothing',
      { l: { a: 1, x: 8 } },
      { l: { a: 1 } },
      { l: [{ a: 1 }] },
      { l: [{ a: 1 }] },
    ],
    [
      'keeps names that every object has',
      { o: { id: 1, a: 1, valueOf: 9 } },
      { o: { id: 1, a: 1 } },
      { o: { id: 1, a: 3 } },
      { o: { id: 1, a: 3, valueOf: 9 } },
    ],
  ])('%s', (_, stored, shown, patch, expected) => {
    expect(applyPatch(stored, shown, patch)).toEqual(expected)
  })
})

test('a patch has no way to the prototype', () => {
  const patch = JSON.parse(
    '{"n":2,"__proto__":{"role":"admin"},"o":{"__proto__":{"role":"admin"}}}',
  ) as object
  const patched = applyPatch({ n: 1, o: { x: 1 } }, { n: 1, o: {} }, patch as Record<string, unknown>)
  expect(patched['role']).toBeUndefined()
  // It is there, under its name, for the store to refuse it.
  expect(Object.hasOwn(patched, '__proto__')).toBe(true)
  expect((patched['o'] as Record<string, unknown>)['role']).toBeUndefined()
})

test('a list of thousands that has moved is no matter of seconds', () => {
  const stored = Array.from({ length: 20_000 }, (_, a) => ({ a, x: a }))
  const known = stored.map(({ a }) => ({ a }))
  const result = applyPatch({ l: stored }, { l: known }, { l: [{ a: -1 }, ...known] })
  expect(result['l']).toEqual([{ a: -1 }, ...stored])
})

describe('what a schema has made', () => {
  test.each([
    ['gets what is unknown to it', { a: 1, x: 9 }, { a: 1 }, { a: 2, x: 9 }, { a: 2 }, { a: 2, x: 9 }],
    ['does not get what is new and left out', { a: 1 }, { a: 1 }, { a: 2, x: 9 }, { a: 2 }, { a: 2 }],
    [
      'does not get what it knows and left out',
      { a: 1, b: 1 },
      { a: 1, b: 1 },
      { a: 2, b: 1 },
      { a: 2 },
      { a: 2 },
    ],
    [
      'gets it within objects',
      { o: { a: 1, x: 9 } },
      { o: { a: 1 } },
      { o: { a: 2, x: 9 } },
      { o: { a: 2 } },
      { o: { a: 2, x: 9 } },
    ],
    [
      'gets it within elements',
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}, {}] },
      { l: [{ x: 9 }] },
      { l: [{}] },
      { l: [{ x: 9 }] },
    ],
    [
      'gets it within elements of which some have it',
      { l: [{ o: { x: 9 } }, { o: {} }], n: 1 },
      { l: [{ o: {} }, { o: {} }], n: 1 },
      { l: [{ o: { x: 9 } }, { o: {} }], n: 2 },
      { l: [{ o: {} }, { o: {} }], n: 2 },
      { l: [{ o: { x: 9 } }, { o: {} }], n: 2 },
    ],
    [
      'gets it within lists of lists',
      { l: [[{ x: 9 }], []] },
      { l: [[{}], []] },
      { l: [[{ x: 9 }], []] },
      { l: [[{}], []] },
      { l: [[{ x: 9 }], []] },
    ],
    [
      'gets names that every object has',
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
      'gets it with the elements of an array that it has sorted and cut',
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
      'gets it within elements whose defaults it has filled in',
      { l: [{ a: 1, x: 9 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1, x: 9 }] },
      { l: [{ a: 1, b: 0 }] },
      { l: [{ a: 1, b: 0, x: 9 }] },
    ],
    [
      'keeps a list that it has cut',
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}, {}] },
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{}] },
      { l: [{}] },
    ],
  ])('%s', (_, stored, known, full, made, expected) => {
    expect(withUnknown(unknownOf(stored, known), full, made)).toEqual(expected)
  })
})
