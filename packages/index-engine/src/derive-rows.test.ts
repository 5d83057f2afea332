import type { Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyIdentity } from './compare-keys.ts'
import { defineIndex } from './define-index.ts'
import { deriveRows } from './derive-rows.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', at: 'time' }, shardOn: 'user' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'id' })
const at = new Date(1)

describe('a bag gives', () => {
  it('one row when every property is there', () => {
    expect(deriveRows(byUser, { user: 'a', at, other: 1 })).toEqual({
      keys: [[Buffer.from('a'), 1000n]],
      misfits: [],
    })
  })

  it('a row per different element of an array, nulls left out', () => {
    const { keys, misfits } = deriveRows(byTag, { tags: ['b', 'a', null, 'b', undefined] as never, rank: 5 })
    expect(keys).toEqual([
      [Buffer.from('b'), 5n],
      [Buffer.from('a'), 5n],
    ])
    expect(misfits).toEqual([])
  })

  it.each<[string, Bag]>([
    ['is absent', { user: 'a' }],
    ['is undefined', { user: 'a', at: undefined }],
    ['is null', { user: 'a', at: null }],
    ['is absent, whatever the others hold', { at: 'yesterday' }],
  ])('neither rows nor misfits when a property %s', (_, bag) => {
    expect(deriveRows(byUser, bag)).toEqual({ keys: [], misfits: [] })
  })

  it.each<[string, Bag]>([
    ['is empty', { tags: [], rank: 1 }],
    ['holds nulls alone', { tags: [null], rank: 'x' }],
    ['holds what is undefined', { tags: [undefined, null] as never, rank: 'x' }],
  ])('neither rows nor misfits when its array %s', (_, bag) => {
    expect(deriveRows(byTag, bag)).toEqual({ keys: [], misfits: [] })
  })

  it('nothing for names that objects have by nature', () => {
    const index = defineIndex('a', { properties: { constructor: 'string' }, shardOn: 'id' })
    expect(deriveRows(index, {})).toEqual({ keys: [], misfits: [] })
  })
})

describe('values within objects', () => {
  const byAuthors = defineIndex('by_authors', { properties: { 'authors.id': 'integer[]' }, shardOn: 'id' })
  const byAuthor = defineIndex('by_author', { properties: { 'author.id': 'integer' }, shardOn: 'id' })

  it('give rows', () => {
    expect(deriveRows(byAuthor, { author: { id: 5 } }).keys).toEqual([[5n]])
    expect(deriveRows(byAuthors, { authors: [{ id: 5 }, { id: 6 }, {}, { id: 5 }] }).keys).toEqual([
      [5n],
      [6n],
    ])
  })

  it('that are misfits are told without a number, which would be that of no element of the bag', () => {
    const { keys, misfits } = deriveRows(byAuthors, { authors: [{}, { id: null }, { id: 'x' }, { id: 5 }] })
    expect(keys).toEqual([[5n]])
    expect(misfits).toEqual([
      { property: 'authors.id', reason: expect.stringMatching(/^an element: a whole number/) },
    ])
  })

  it('are misfits where there are several for one', () => {
    expect(deriveRows(byAuthor, { author: [{ id: 5 }] })).toEqual({
      keys: [],
      misfits: [{ property: 'author.id', reason: expect.stringMatching(/got an array of 1 elements/) }],
    })
    expect(deriveRows(byAuthor, { author: [5, {}] })).toEqual({ keys: [], misfits: [] })
  })

  it('are misfits where there is one for several', () => {
    expect(deriveRows(byAuthors, { authors: { id: 5 } }).misfits).toEqual([
      { property: 'authors.id', reason: expect.stringMatching(/^an array is expected/) },
    ])
  })
})

describe('a misfit', () => {
  it('is an array in place of a scalar, whatever it holds', () => {
    const reason = 'a string is expected, got an array of 1 elements'
    expect(deriveRows(byUser, { user: [null], at })).toEqual({
      keys: [],
      misfits: [{ property: 'user', reason }],
    })
  })

  it('gives no row and says why', () => {
    expect(deriveRows(byUser, { user: 5, at: 'x' })).toEqual({
      keys: [],
      misfits: [
        { property: 'user', reason: 'a string is expected, got a number' },
        { property: 'at', reason: 'a valid Date is expected, got a string of 1 characters' },
      ],
    })
  })

  it('among the elements of an array leaves the rows of the others', () => {
    expect(deriveRows(byTag, { tags: ['a', 7, 'b', 8], rank: 1 })).toEqual({
      keys: [
        [Buffer.from('a'), 1n],
        [Buffer.from('b'), 1n],
      ],
      misfits: [{ property: 'tags', reason: 'element 1: a string is expected, got a number' }],
    })
  })

  it('is an array where a scalar is expected, and the reverse', () => {
    expect(deriveRows(byUser, { user: ['a'], at }).misfits[0]?.reason).toBe(
      'a string is expected, got an array of 1 elements',
    )
    expect(deriveRows(byTag, { tags: 'a', rank: 1 }).misfits).toEqual([
      { property: 'tags', reason: 'an array is expected, got a string of 1 characters' },
    ])
  })

  it('is an array of more than 1,000 different elements; 1,000 are none', () => {
    const tags = Array.from({ length: 1001 }, (_, i) => String(i))
    expect(deriveRows(byTag, { tags, rank: 1 })).toEqual({
      keys: [],
      misfits: [{ property: 'tags', reason: 'at most 1000 different elements are expected, got 1001' }],
    })
    expect(deriveRows(byTag, { tags: [...tags.slice(1), '1'], rank: 1 })).toMatchObject({ misfits: [] })
    expect(deriveRows(byTag, { tags: tags.slice(1), rank: 1 }).keys).toHaveLength(1000)
  })
})

it('never gives a key twice, whatever a bag holds', () => {
  fc.assert(
    fc.property(fc.array(fc.anything({ withDate: true, withBigInt: true })), fc.anything(), (tags, rank) => {
      const { keys } = deriveRows(byTag, { tags, rank } as Bag)
      expect(new Set(keys.map(keyIdentity)).size).toBe(keys.length)
      for (const key of keys) expect(key).toHaveLength(2)
    }),
  )
})
