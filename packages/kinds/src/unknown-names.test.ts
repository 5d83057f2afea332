import { describe, expect, test } from 'vitest'
import { agrees, unknownOf, withUnknown } from './keep-unknown.ts'

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
