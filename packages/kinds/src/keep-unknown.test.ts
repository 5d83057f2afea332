import { describe, expect, test } from 'vitest'
import { applyPatch, withUnknown } from './keep-unknown.ts'

describe('a patch', () => {
  test.each([
    ['names what changes', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: 3 }, { a: 3, b: 2 }],
    ['removes what is undefined', { a: 1, b: 2 }, { a: 1, b: 2 }, { a: undefined }, { b: 2 }],
    ['keeps what was not shown', { a: 1, x: 9 }, { a: 1 }, { a: 3 }, { a: 3, x: 9 }],
    [
      'keeps it within objects',
      { o: { a: 1, x: 9 } },
      { o: { a: 1 } },
      { o: { a: 3 } },
      { o: { a: 3, x: 9 } },
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
      'keeps it in elements that have changed where they stand',
      {
        l: [
          { a: 1, x: 8 },
          { a: 2, x: 9 },
        ],
      },
      { l: [{ a: 1 }, { a: 2 }] },
      { l: [{ a: 1 }, { a: 3 }] },
      {
        l: [
          { a: 1, x: 8 },
          { a: 3, x: 9 },
        ],
      },
    ],
  ])('%s', (_, stored, shown, patch, expected) => {
    expect(applyPatch(stored, shown, patch)).toEqual(expected)
  })
})

describe('what a schema has made', () => {
  test.each([
    ['gets what was stored and left out', { a: 1, x: 9 }, { a: 2, x: 9 }, { a: 2 }, { a: 2, x: 9 }],
    ['does not get what is new and left out', { a: 1 }, { a: 2, x: 9 }, { a: 2 }, { a: 2 }],
    [
      'gets it within objects',
      { o: { x: 9 } },
      { o: { a: 2, x: 9 } },
      { o: { a: 2 } },
      { o: { a: 2, x: 9 } },
    ],
    [
      'gets it within elements',
      { l: [{ x: 8 }, { x: 9 }] },
      { l: [{ x: 9 }] },
      { l: [{}] },
      { l: [{ x: 9 }] },
    ],
    [
      'keeps values of other kinds',
      { d: new Date(0) },
      { d: new Date(1) },
      { d: new Date(1) },
      { d: new Date(1) },
    ],
  ])('%s', (_, stored, full, made, expected) => {
    expect(withUnknown(stored, full, made)).toEqual(expected)
  })
})
