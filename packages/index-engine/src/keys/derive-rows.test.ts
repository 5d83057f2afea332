import { formatId, type Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entriesOf } from '../definitions/catalog-entries.ts'
import { defineIndex } from '../definitions/define-index.ts'
import { defineKey } from '../definitions/key-functions.ts'
import { keyIdentity } from './key-identity.ts'
import { deriveClaims, deriveEntryRows, deriveRows } from './derive-rows.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', at: 'time' }, shardOn: 'user' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'id' })
const at = new Date(1)

describe('deriveRows', () => {
  it('a bag with every property has one row', () => {
    expect(deriveRows(byUser, { user: 'a', at, other: 1 })).toEqual({
      keys: [[Buffer.from('a'), 1000n]],
      misfits: [],
    })
  })

  it('an array has a row per distinct element that is not null', () => {
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
  ])('a bag has neither rows nor misfits if a property %s', (_, bag) => {
    expect(deriveRows(byUser, bag)).toEqual({ keys: [], misfits: [] })
  })

  it.each<[string, Bag]>([
    ['is empty', { tags: [], rank: 1 }],
    ['holds nulls alone', { tags: [null], rank: 'x' }],
    ['holds undefined', { tags: [undefined, null] as never, rank: 'x' }],
  ])('a bag has neither rows nor misfits if its array %s', (_, bag) => {
    expect(deriveRows(byTag, bag)).toEqual({ keys: [], misfits: [] })
  })

  it('a name of Object.prototype is no property of a bag', () => {
    const index = defineIndex('a', { properties: { constructor: 'string' }, shardOn: 'id' })
    expect(deriveRows(index, {})).toEqual({ keys: [], misfits: [] })
  })
})

describe('values within objects', () => {
  const byAuthors = defineIndex('by_authors', { properties: { 'authors.id': 'integer[]' }, shardOn: 'id' })
  const byAuthor = defineIndex('by_author', { properties: { 'author.id': 'integer' }, shardOn: 'id' })

  it('values within objects give rows', () => {
    expect(deriveRows(byAuthor, { author: { id: 5 } }).keys).toEqual([[5n]])
    expect(deriveRows(byAuthors, { authors: [{ id: 5 }, { id: 6 }, {}, { id: 5 }] }).keys).toEqual([
      [5n],
      [6n],
    ])
  })

  it('a misfit along a path has no element number, which would not be that of the bag', () => {
    const { keys, misfits } = deriveRows(byAuthors, { authors: [{}, { id: null }, { id: 'x' }, { id: 5 }] })
    expect(keys).toEqual([[5n]])
    expect(misfits).toEqual([
      { property: 'authors.id', reason: expect.stringMatching(/^an element: a whole number/) },
    ])
  })

  it('several values along a path are a misfit of a scalar property', () => {
    expect(deriveRows(byAuthor, { author: [{ id: 5 }] })).toEqual({
      keys: [],
      misfits: [{ property: 'author.id', reason: expect.stringMatching(/got an array of 1 element/) }],
    })
    expect(deriveRows(byAuthor, { author: [5, {}] })).toEqual({ keys: [], misfits: [] })
  })

  it('one value along a path is a misfit of an array property', () => {
    expect(deriveRows(byAuthors, { authors: { id: 5 } }).misfits).toEqual([
      { property: 'authors.id', reason: expect.stringMatching(/^an array is expected/) },
    ])
  })
})

describe('a key function', () => {
  const byTitle = defineIndex('by_title', {
    properties: {
      title: { type: 'string', key: 'lower' },
      day: { type: 'time', of: 'meta.at', key: 'day' },
    },
    shardOn: 'title',
  })

  it('a key function replaces the value, also of a property with a path', () => {
    const bag = { title: 'How', meta: { at: new Date('2009-02-27T12:00:00Z') }, day: 'another' }
    expect(deriveRows(byTitle, bag)).toEqual({
      keys: [[Buffer.from('how'), BigInt(Date.parse('2009-02-27')) * 1000n]],
      misfits: [],
    })
  })

  it('elements with the same key have one row', () => {
    const index = defineIndex('a', {
      properties: { tags: { type: 'string[]', key: 'lower' } },
      shardOn: 'id',
    })
    expect(deriveRows(index, { tags: ['B', 'a', 'b', 'A'] }).keys).toEqual([
      [Buffer.from('b')],
      [Buffer.from('a')],
    ])
  })

  it('a value without a key is a misfit', () => {
    const index = defineIndex('a', { properties: { link: { type: 'string', key: 'host' } }, shardOn: 'id' })
    expect(deriveRows(index, { link: 'no host' })).toEqual({
      keys: [],
      misfits: [{ property: 'link', reason: 'a URL with a host, or a host name is expected' }],
    })
  })

  it('a key function gets values of its type only', () => {
    expect(deriveRows(byTitle, { title: 5, meta: { at: new Date(0) } }).misfits).toEqual([
      { property: 'title', reason: 'a string is expected, got a number' },
    ])
  })

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('secret')
      },
      'the function of the key of_test_1@1 threw',
    ],
    [
      'gives nothing',
      () => undefined,
      'the function of the key of_test_2@1 gave a wrong type: a string is expected, got nothing',
    ],
    [
      'gives another type',
      () => 5,
      'the function of the key of_test_3@1 gave a wrong type: a string is expected, got a number',
    ],
  ])('a key function that %s makes a misfit', (_, derive, reason) => {
    const key = defineKey({
      name: `of_test_${derived++}`,
      version: 1,
      from: 'string',
      derive: derive as never,
    })
    const index = defineIndex('a', { properties: { s: { type: 'string', key } }, shardOn: 'id' })
    expect(deriveRows(index, { s: 'secret' })).toEqual({ keys: [], misfits: [{ property: 's', reason }] })
  })
  let derived = 1
})

describe('a property with nulls', () => {
  const first = defineIndex('a', {
    properties: { kind: 'string', due: { type: 'time', nulls: 'first' } },
    shardOn: 'id',
  })
  const last = defineIndex('a', {
    properties: { users: { type: 'uuid[]', nulls: 'last' }, rank: 'integer' },
    shardOn: 'users',
  })
  const user = Buffer.alloc(16, 7)

  it('an entity without the property has a row, with a mark before its column', () => {
    for (const bag of [{ kind: 'a' }, { kind: 'a', due: null }, { kind: 'a', due: undefined }]) {
      expect(deriveRows(first, bag).keys).toEqual([[Buffer.from('a'), 0n, 0n]])
    }
    expect(deriveRows(first, { kind: 'a', due: at }).keys).toEqual([[Buffer.from('a'), 1n, 1000n]])
  })

  it('an entity with an empty array has one row', () => {
    for (const users of [undefined, null, [], [null]]) {
      expect(deriveRows(last, { users, rank: 5 } as Bag).keys).toEqual([[1n, Buffer.alloc(16), 5n]])
    }
    expect(deriveRows(last, { users: [formatId(user), null], rank: 5 }).keys).toEqual([[0n, user, 5n]])
  })

  it('an entity that lacks a property without nulls has no row', () => {
    expect(deriveRows(first, { due: at })).toEqual({ keys: [], misfits: [] })
  })

  it('a misfit of a property with nulls stays a misfit', () => {
    expect(deriveRows(first, { kind: 'a', due: 5 })).toEqual({
      keys: [],
      misfits: [{ property: 'due', reason: 'a valid Date is expected, got a number' }],
    })
  })
})

describe('claims in a unique index', () => {
  const seats = defineIndex('a', {
    properties: {
      car: { type: 'integer', nulls: 'last' },
      train: 'string',
      seats: { type: 'integer[]', nulls: 'first' },
    },
    shardOn: 'train',
    unique: true,
  })

  it('an entity claims its keys without absent values', () => {
    const train = Buffer.from('ICE 1')
    const claims = (bag: Bag): unknown => deriveClaims(seats, { train: 'ICE 1', ...bag })
    expect(claims({ car: 2, seats: [5, 6] })).toEqual([
      [0n, 2n, train, 1n, 5n],
      [0n, 2n, train, 1n, 6n],
    ])
    expect(claims({ car: 2 })).toEqual([])
    expect(claims({ seats: [5] })).toEqual([])
    expect(deriveEntryRows(seats, { train: 'ICE 1', car: 2, seats: [5, 'x'] })).toEqual({
      keys: [[0n, 2n, train, 1n, 5n]],
      misfits: [],
    })
  })

  it('the entry of the rows also has keys with absent values', () => {
    const [rows] = entriesOf(seats)
    expect(deriveEntryRows(rows!, { train: 'ICE 1', car: 2 }).keys).toHaveLength(1)
  })
})

describe('a misfit', () => {
  it('an array in place of a scalar is a misfit, whatever its elements', () => {
    const reason = 'a string is expected, got an array of 1 element'
    expect(deriveRows(byUser, { user: [null], at })).toEqual({
      keys: [],
      misfits: [{ property: 'user', reason }],
    })
  })

  it('a misfit gives no row, and a reason', () => {
    expect(deriveRows(byUser, { user: 5, at: 'x' })).toEqual({
      keys: [],
      misfits: [
        { property: 'user', reason: 'a string is expected, got a number' },
        { property: 'at', reason: 'a valid Date is expected, got a string of 1 character' },
      ],
    })
  })

  it('a misfit among elements leaves the rows of the other elements', () => {
    expect(deriveRows(byTag, { tags: ['a', 7, 'b', 8], rank: 1 })).toEqual({
      keys: [
        [Buffer.from('a'), 1n],
        [Buffer.from('b'), 1n],
      ],
      misfits: [{ property: 'tags', reason: 'element 1: a string is expected, got a number' }],
    })
  })

  it('a scalar in place of an array is a misfit', () => {
    expect(deriveRows(byUser, { user: ['a'], at }).misfits[0]?.reason).toBe(
      'a string is expected, got an array of 1 element',
    )
    expect(deriveRows(byTag, { tags: 'a', rank: 1 }).misfits).toEqual([
      { property: 'tags', reason: 'an array is expected, got a string of 1 character' },
    ])
  })

  it('an array of more than 1,000 distinct elements is a misfit', () => {
    const tags = Array.from({ length: 1001 }, (_, i) => String(i))
    expect(deriveRows(byTag, { tags, rank: 1 })).toEqual({
      keys: [],
      misfits: [{ property: 'tags', reason: 'at most 1000 different elements are expected, got 1001' }],
    })
    expect(deriveRows(byTag, { tags: [...tags.slice(1), '1'], rank: 1 })).toMatchObject({ misfits: [] })
    expect(deriveRows(byTag, { tags: tags.slice(1), rank: 1 }).keys).toHaveLength(1000)
  })
})

it('deriveRows never gives a key twice', () => {
  fc.assert(
    fc.property(fc.array(fc.anything({ withDate: true, withBigInt: true })), fc.anything(), (tags, rank) => {
      const { keys } = deriveRows(byTag, { tags, rank } as Bag)
      expect(new Set(keys.map(keyIdentity)).size).toBe(keys.length)
      for (const key of keys) expect(key).toHaveLength(2)
    }),
  )
})
