import type { Bag } from '@looseleaf/core'
import type { IndexPredicate } from '@looseleaf/core/internal'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it, test } from 'vitest'
import { lastBytePlacement } from '../../test/model.ts'
import { deriveClaims, deriveEntryRows, deriveRows } from '../keys/derive-rows.ts'
import { diffRows } from '../keys/diff-rows.ts'
import { includedPart } from '../keys/included-part.ts'
import { planIntersection } from '../pages/plan-intersection.ts'
import { planQuery } from '../pages/plan-query.ts'
import { defineIndex, definitionData, definitionFromData } from './define-index.ts'
import { entriesOf, sameRows } from './catalog-entries.ts'
import { predicateText } from './predicate.ts'

const on = { kind: 'issue', 'state.open': true, weight: 1 } as const
const issues = defineIndex('issues', {
  properties: { assignee: 'string' },
  shardOn: 'assignee',
  unique: true,
  include: ['title'],
  on,
})
const issue = { kind: 'issue', state: { open: true }, weight: 1, assignee: 'ada', title: 'a', text: 'b' }

describe('an index with on', () => {
  const row = { keys: [[Buffer.from('ada')]], misfits: [] }
  const nothing = { keys: [], misfits: [] }

  it.each<[string, Bag]>([
    ['lacks one of the properties', { ...issue, kind: undefined }],
    ['has another value', { ...issue, kind: 'Issue' }],
    ['has another value within an object', { ...issue, state: { open: false } }],
    ['has the value in an array', { ...issue, kind: ['issue'] }],
    ['has the value in an object of an array', { ...issue, state: [{ open: true }] }],
    ['has null', { ...issue, kind: null }],
    ['has a number that is a text', { ...issue, weight: '1' }],
    ['has a number that is a bigint', { ...issue, weight: 1n }],
    ['has a number that is a boolean', { ...issue, weight: true }],
  ])('a partial index has neither rows nor misfits nor claims of a bag that %s', (_, bag) => {
    expect(deriveRows(issues, issue)).toEqual(row)
    expect(deriveRows(issues, bag)).toEqual(nothing)
    expect(deriveRows(issues, { ...bag, assignee: 5 })).toEqual(nothing)
    expect(deriveClaims(issues, bag)).toEqual([])
    expect(entriesOf(issues).map((entry) => deriveEntryRows(entry, bag))).toEqual([nothing, nothing])
  })

  it('a partial index with a list has the entities with any of its values', () => {
    const both = defineIndex('both', {
      properties: { assignee: 'string' },
      shardOn: 'assignee',
      unique: true,
      on: { kind: ['issue', 'task', 7] },
    })
    for (const kind of ['issue', 'task', 7]) {
      expect(deriveRows(both, { ...issue, kind })).toEqual(row)
      expect(deriveClaims(both, { ...issue, kind })).toEqual(row.keys)
    }
    for (const kind of ['note', '7', 7n, null, undefined, ['issue'], ['issue', 'task', 7], 'issue,task,7'])
      expect(deriveRows(both, { ...issue, kind, assignee: 5 })).toEqual(nothing)
  })

  it('a partial index reports misfits of its entities', () => {
    expect(deriveRows(issues, { ...issue, assignee: 5 }).misfits).toMatchObject([{ property: 'assignee' }])
  })

  it('a property with the whole name takes precedence over a path in on', () => {
    expect(deriveRows(issues, { ...issue, state: {}, 'state.open': true })).toEqual(row)
    expect(deriveRows(issues, { ...issue, 'state.open': false })).toEqual(nothing)
  })

  it('an entity gains and loses rows when a value of on changes', () => {
    const closed = { ...issue, state: { open: false } }
    expect(diffRows(issues, deriveRows(issues, issue).keys, closed)).toMatchObject({
      gained: [],
      lost: row.keys,
      isIndexed: false,
    })
    expect(diffRows(issues, deriveRows(issues, closed).keys, issue)).toMatchObject({
      gained: row.keys,
      lost: [],
      isIndexed: true,
    })
    expect(diffRows(issues, deriveRows(issues, closed).keys, { ...closed, assignee: 'bob' })).toMatchObject({
      gained: [],
      lost: [],
    })
  })

  it('queries check on, also against the included part of a row', () => {
    const index = { ...issues, generation: 1 }
    const where = { assignee: 'ada' }
    const placement = lastBytePlacement(4)
    const plans = [
      planQuery(index, where, {}, placement),
      planIntersection([{ index, where }], { scatter: true }, placement),
    ]
    for (const { firstKey } of plans) {
      expect(firstKey(issue)).toBeDefined()
      expect(firstKey({ ...issue, kind: 'note' })).toBeUndefined()
      expect(firstKey(includedPart(issues, issue))).toBeDefined()
      expect(firstKey(includedPart(issues, { ...issue, kind: 'note' }))).toBeUndefined()
    }
    expect(includedPart(issues, issue)).toEqual({ assignee: 'ada', title: 'a', ...on })
  })

  it('a partial index may have nulls for all of its properties', () => {
    const properties = { assignee: { type: 'string', nulls: 'last' } } as const
    const all = defineIndex('all', { properties, shardOn: 'id', on: { kind: 'issue' } })
    expect(deriveRows(all, { kind: 'issue' }).keys).toHaveLength(1)
    expect(deriveRows(all, {}).keys).toEqual([])
  })

  it('on is frozen plain data, and survives JSON', () => {
    const data = definitionData(issues)
    expect(data.on).toStrictEqual(on)
    expect(Object.isFrozen(issues.on)).toBe(true)
    expect(definitionFromData(JSON.parse(JSON.stringify(data))).on).toStrictEqual(on)
    expect(entriesOf(issues).map((entry) => entry.on)).toEqual([on, on])
    expect(defineIndex('a', { properties: { a: 'uuid' }, shardOn: 'a' })).not.toHaveProperty('on')
  })
})

describe('on', () => {
  const withOn = (given: unknown): ReturnType<typeof defineIndex> =>
    // A program without types may give anything.
    defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', on: given as IndexPredicate })

  it.each<[string, unknown, RegExp]>([
    ['null', null, /Index a needs on to be properties and values .*; got null/],
    ['a list', ['kind'], /properties and values .*; got an array of 1 element/],
    ['nothing', {}, /1 to 4 properties in on; got 0/],
    ['five properties', { a: 1, b: 1, c: 1, d: 1, e: 1 }, /1 to 4 properties in on; got 5/],
    ['the id', { id: 'a' }, /cannot have the property id/],
    ['a dot without a name', { 'a.': 1 }, /a dot without a name/],
    ['null as a value', { kind: null }, /for kind in on; got null/],
    ['a list of one value', { kind: ['a'] }, /for kind in on; got an array/],
    ['a list of none', { kind: [] }, /a list of 2 to 16 different ones.* got an array of 0/],
    ['a list with a value twice', { kind: ['a', 'b', 'a'] }, /2 to 16 different ones.* got an array of 3/],
    ['a list of too many', { n: Array.from({ length: 17 }, (_, n) => n) }, /got an array of 17/],
    ['a list with null', { kind: ['a', null] }, /for kind in on; got null/],
    // oxlint-disable-next-line no-sparse-arrays
    ['a list with a hole', { kind: ['a', , 'b'] }, /for kind in on; got nothing/],
    ['a list of lists', { kind: [['a'], ['b']] }, /for kind in on; got an array of 1/],
    ['a time', { at: new Date(0) }, /for at in on; got a Date/],
    ['a bigint', { n: 1n }, /for n in on; got a bigint/],
    ['NaN', { n: Number.NaN }, /a finite number .* for n in on; got NaN/],
    ['a long string', { s: 'x'.repeat(257) }, /up to 256 characters for s in on; got a string of 257/],
    ['half a character', { s: '\ud800' }, /a well-formed string .* for s in on/],
  ])('on refuses %s', (_, given, message) => {
    const error = errorOf(() => withOn(given))
    expect(error.code).toBe('BAD_INDEX')
    expect(error.message).toMatch(message)
    expect(errorOf(() => definitionFromData({ ...issues, on: given as IndexPredicate })).code).toBe(
      'BAD_INDEX',
    )
  })

  it('on may have four properties, and a string of 256 characters', () => {
    expect(withOn({ a: 'x'.repeat(256), b: '', c: 0, d: false }).on).toHaveProperty('d', false)
  })

  it.each<[string, unknown, boolean]>([
    ['in another order', { b: 1, a: 'x' }, true],
    ['with another value', { a: 'y', b: 1 }, false],
    ['with a value of another type', { a: 'x', b: '1' }, false],
    ['with another property', { a: 'x', c: 1 }, false],
    ['with one more', { a: 'x', b: 1, c: 1 }, false],
    ['with one less', { a: 'x' }, false],
    ['without it', undefined, false],
  ])('a predicate %s equals the first one, or not: %j, %s', (_, other, isSame) => {
    const first = withOn({ a: 'x', b: 1 })
    expect(sameRows(first, withOn(other))).toBe(isSame)
    expect(sameRows(withOn(other), first)).toBe(isSame)
  })
})

test('lists with the same values are the same predicate, in any order', () => {
  const of = (kind: IndexPredicate[string]): ReturnType<typeof defineIndex> =>
    defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', on: { kind } })
  expect(sameRows(of(['x', 'y']), of(['y', 'x']))).toBe(true)
  expect(sameRows(of(['x', 'y']), of(['x', 'z']))).toBe(false)
  expect(sameRows(of(['x', 'y']), of(['x', 'y', 'z']))).toBe(false)
  expect(sameRows(of(['1', 'y']), of([1, 'y']))).toBe(false)
  expect(sameRows(of(['x', 'y']), of('x'))).toBe(false)
  const data = definitionData(of(['x', 'y']))
  expect(definitionFromData(JSON.parse(JSON.stringify(data))).on).toStrictEqual({ kind: ['x', 'y'] })
  expect(Object.isFrozen(data.on?.['kind'])).toBe(true)
})

test('predicateText describes a predicate', () => {
  expect(predicateText({ kind: ['task', 'issue'], n: 1 })).toBe('kind in ("issue", "task") and n = 1')
  expect(predicateText(on)).toBe('kind = "issue" and state.open = true and weight = 1')
})
