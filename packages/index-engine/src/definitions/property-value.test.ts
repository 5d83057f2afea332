import type { Bag, PropertyValue } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { propertyValue } from './property-value.ts'

const value = (bag: Bag, name: string): unknown => propertyValue(bag, name)

describe('a name with dots', () => {
  it.each<[string, string, Bag, unknown]>([
    ['leads into objects', 'a.b.c', { a: { b: { c: 5 } } }, 5],
    ['leads to arrays', 'a.b', { a: { b: [1] } }, [1]],
    ['finds the property with the whole name first', 'a.b', { 'a.b': 1, a: { b: 2 } }, 1],
    ['skips a property with the whole name that is undefined', 'a.b', { 'a.b': undefined, a: { b: 2 } }, 2],
    ['finds a property with the whole name that is null', 'a.b', { 'a.b': null, a: { b: 2 } }, null],
    ['finds no name with dots within an object', 'a.b.c', { a: { 'b.c': 1 } }, undefined],
    ['does not lead into a string', 'a.length', { a: 'text' }, undefined],
    ['does not lead into a Date', 'a.getTime', { a: new Date(0) }, undefined],
    ['does not lead into bytes', 'a.0', { a: new Uint8Array([1]) }, undefined],
    ['leads into objects without a prototype', 'a.b', { a: Object.assign(Object.create(null), { b: 1 }) }, 1],
    ['does not lead into undefined', 'a.b', { a: undefined }, undefined],
    ['does not lead into null', 'a.b', { a: null }, undefined],
    ['does not lead to Object.prototype', 'a.constructor', { a: {} }, undefined],
  ])('a name with dots %s', (_, name, bag, expected) => expect(value(bag, name)).toEqual(expected))
})

describe('a path into arrays', () => {
  it.each<[string, string, PropertyValue, unknown]>([
    ['leads to an array', 'b', { b: ['x', 'y'] }, ['x', 'y']],
    ['leads through an array', 'b', [{ b: 'x' }, { b: 'y' }], ['x', 'y']],
    [
      'leads through arrays to arrays',
      'b.c',
      [{ b: [{ c: ['x', 'y'] }] }, { b: { c: ['z'] } }],
      ['x', 'y', 'z'],
    ],
    ['skips elements without a value', 'b', [{ b: 'x' }, {}, 5, null, { b: null }], ['x']],
    ['skips null in arrays', 'b', [{ b: ['x', null] }, { b: [null] }], ['x']],
    ['leads to nothing if all values are null', 'b', [{ b: null }, { b: [null] }], undefined],
    ['leads to nothing if no element has a value', 'b', [{}, 5], undefined],
    ['leads to nothing in an empty array', 'b', [], undefined],
    ['leads to a scalar, which is a misfit', 'b', { b: 'x' }, 'x'],
  ])('a path into arrays %s', (_, rest, a, expected) => expect(value({ a }, `a.${rest}`)).toEqual(expected))
})
