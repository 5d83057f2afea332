import type { Bag, PropertyValue } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { propertyValue } from './property-value.ts'

const value = (bag: Bag, name: string): unknown => propertyValue(bag, name)

describe('a name with dots', () => {
  it.each<[string, string, Bag, unknown]>([
    ['leads into objects', 'a.b.c', { a: { b: { c: 5 } } }, 5],
    ['leads to arrays', 'a.b', { a: { b: [1] } }, [1]],
    ['is a property of the bag itself first', 'a.b', { 'a.b': 1, a: { b: 2 } }, 1],
    ['is none of the bag where that is undefined', 'a.b', { 'a.b': undefined, a: { b: 2 } }, 2],
    ['is one of the bag where that is null', 'a.b', { 'a.b': null, a: { b: 2 } }, null],
    ['is no property of an object within', 'a.b.c', { a: { 'b.c': 1 } }, undefined],
    ['does not lead into a string', 'a.length', { a: 'text' }, undefined],
    ['does not lead into a Date', 'a.getTime', { a: new Date(0) }, undefined],
    ['does not lead into bytes', 'a.0', { a: new Uint8Array([1]) }, undefined],
    ['leads into objects without a prototype', 'a.b', { a: Object.assign(Object.create(null), { b: 1 }) }, 1],
    ['does not lead into what is undefined', 'a.b', { a: undefined }, undefined],
    ['does not lead into null', 'a.b', { a: null }, undefined],
    ['does not lead to what objects have by nature', 'a.constructor', { a: {} }, undefined],
  ])('%s', (_, name, bag, expected) => expect(value(bag, name)).toEqual(expected))
})

describe('a name with dots, where there are arrays', () => {
  it.each<[string, string, PropertyValue, unknown]>([
    ['leads to an array', 'b', { b: ['x', 'y'] }, ['x', 'y']],
    ['leads through an array', 'b', [{ b: 'x' }, { b: 'y' }], ['x', 'y']],
    [
      'leads through arrays to arrays',
      'b.c',
      [{ b: [{ c: ['x', 'y'] }] }, { b: { c: ['z'] } }],
      ['x', 'y', 'z'],
    ],
    ['passes over elements that have none', 'b', [{ b: 'x' }, {}, 5, null, { b: null }], ['x']],
    ['passes over what is null in arrays', 'b', [{ b: ['x', null] }, { b: [null] }], ['x']],
    ['leads to nothing where all is null', 'b', [{ b: null }, { b: [null] }], undefined],
    ['leads to nothing where no element has one', 'b', [{}, 5], undefined],
    ['leads to nothing in an empty array', 'b', [], undefined],
    ['leads to what is no array, which is a misfit', 'b', { b: 'x' }, 'x'],
  ])('%s', (_, rest, a, expected) => expect(value({ a }, `a.${rest}`)).toEqual(expected))
})
