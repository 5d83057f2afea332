import type { Bag } from '@looseleaf/core'
import type { KeyRange } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it } from 'vitest'
import { idOf, inRange, lastBytePlacement } from '../../test/model.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import { deriveRows } from '../keys/derive-rows.ts'
import { planQuery, type QueryPlan } from './plan-query.ts'

const byUser = defineIndex('by_user', {
  properties: { user: 'uuid', published: 'time', title: 'string' },
  shardOn: 'user',
})
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'id' })
const byTitle = defineIndex('by_title', { properties: { title: 'string' }, shardOn: 'title' })
const byUserTag = defineIndex('by_user_tag', {
  properties: { user: 'uuid', tags: 'string[]' },
  shardOn: 'user',
})
const user = '00000000-0000-0000-0000-000000000002'
const user3 = '00000000-0000-0000-0000-000000000003'
const published = new Date(5)

function plan(index: IndexDefinition, where: unknown, options: object = {}): QueryPlan {
  return planQuery({ ...index, generation: 1 }, where, options, lastBytePlacement(4))
}

const rangesOf = ({ ranges }: QueryPlan): KeyRange[] => ranges.map(({ range }) => range)

/** Returns the only range of a query. */
function rangeOf(query: QueryPlan): KeyRange {
  const [range, ...others] = rangesOf(query)
  expect(others).toEqual([])
  return range as KeyRange
}

describe('canCountRows', () => {
  const byOwner = defineIndex('by_owner', { properties: { owners: 'string[]' }, shardOn: 'owners' })
  const long = 'x'.repeat(513)

  it.each<[string, boolean, IndexDefinition, object, object]>([
    ['the rows of one shard', true, byTitle, { title: 'a' }, {}],
    ['the rows of all shards', true, byTitle, {}, { scatter: true }],
    ['rows of one element of an array', true, byOwner, { owners: 'a' }, {}],
    ['rows of an array that are with their entity', true, byTag, {}, { scatter: true }],
    ['rows of an array that are spread over shards', false, byOwner, {}, { scatter: true }],
    ['rows behind a long string', false, byTitle, { title: { gt: long } }, { scatter: true }],
    ['rows before a long string', false, byTitle, { title: { lt: long } }, { scatter: true }],
    ['rows of a list, of which an entity has one', true, byTitle, { title: { in: ['a', 'b'] } }, {}],
    [
      'rows of an array behind a list',
      true,
      byUserTag,
      { user: { in: [user, user3] }, tags: { gt: 'a' } },
      { scatter: true },
    ],
    ['rows of a list of elements', false, byTag, { tags: { in: ['a', 'b'] } }, { scatter: true }],
    ['rows of a list of elements on one shard', false, byOwner, { owners: { in: ['a', 'e'] } }, {}],
    ['rows of a list of one element', true, byOwner, { owners: { in: ['a', 'a'] } }, {}],
    ['rows behind a short string', true, byTitle, { title: { gt: long.slice(1) } }, { scatter: true }],
  ])('canCountRows of %s is %s', (_, expected, index, where, options) => {
    expect(plan(index, where, options).canCountRows).toBe(expected)
  })
})

describe('a query on descending properties', () => {
  const index = defineIndex('a', {
    properties: {
      tag: { type: 'string', order: 'desc' },
      score: { type: 'integer', order: 'desc', nulls: 'last' },
      rank: 'integer',
    },
    shardOn: 'tag',
  })
  const text = (value: string): Buffer => Buffer.from(value)

  it('a range on a descending property keeps its bounds', () => {
    expect(rangesOf(plan(index, { tag: 'a', score: { gt: 1, lte: 5 } }))).toEqual([
      {
        prefix: [text('a'), 0n],
        lower: { value: 1n, inclusive: false },
        upper: { value: 5n, inclusive: true },
      },
    ])
    expect(rangesOf(plan(index, { tag: { startsWith: 'ab' } }, { scatter: true }))).toEqual([
      {
        prefix: [],
        lower: { value: text('ab'), inclusive: true },
        upper: { value: text('ac'), inclusive: false },
      },
    ])
  })

  it('a list on a descending property is read from the greatest value on, then null', () => {
    const where = { tag: { in: ['a', 'b'] }, score: { in: [1, null, 3] } }
    expect(rangesOf(plan(index, where)).map(({ prefix }) => prefix)).toEqual([
      [text('b'), 0n, 3n],
      [text('b'), 0n, 1n],
      [text('b'), 1n, 0n],
      [text('a'), 0n, 3n],
      [text('a'), 0n, 1n],
      [text('a'), 1n, 0n],
    ])
    expect(plan(index, where).matches({ tag: 'a', score: 3, rank: 0 })).toBe(true)
    expect(plan(index, where).matches({ tag: 'a', score: 2, rank: 0 })).toBe(false)
  })
})

describe('a query on keys and nulls', () => {
  const index = defineIndex('a', {
    properties: {
      host: { type: 'string', of: 'link', key: 'host' },
      due: { type: 'time', nulls: 'first' },
      title: { type: 'string', key: 'lower', nulls: 'last' },
      link: { type: 'string', key: 'hash' },
    },
    shardOn: 'host',
  })
  const link = 'https://Example.com/a'
  const host = Buffer.from('example.com')

  const onlyRange = ({ ranges }: QueryPlan): KeyRange => ranges[0]!.range

  it('a query scans the key of a value', () => {
    expect(onlyRange(plan(index, { host: link }))).toEqual({ prefix: [host] })
    expect(onlyRange(plan(index, { host: 'EXAMPLE.com' }))).toEqual({ prefix: [host] })
  })

  it('null selects absent values', () => {
    expect(onlyRange(plan(index, { host: link, due: null }))).toEqual({ prefix: [host, 0n, 0n] })
    expect(onlyRange(plan(index, { host: link, due: null, title: null })).prefix.slice(3)).toEqual([
      1n,
      Buffer.alloc(0),
    ])
  })

  it('a value or a range selects among present values', () => {
    expect(onlyRange(plan(index, { host: link, due: published }))).toEqual({ prefix: [host, 1n, 5000n] })
    expect(onlyRange(plan(index, { host: link, due: { gt: published } }))).toEqual({
      prefix: [host, 1n],
      lower: { value: 5000n, inclusive: false },
    })
    expect(onlyRange(plan(index, { host: link, due: null, title: { startsWith: 'HO' } }))).toEqual({
      prefix: [host, 0n, 0n, 0n],
      lower: { value: Buffer.from('ho'), inclusive: true },
      upper: { value: Buffer.from('hp'), inclusive: false },
    })
  })

  it('a query matches by key, and a range never matches an absent value', () => {
    const matches = (where: object, bag: Bag): boolean => plan(index, where).matches({ link, ...bag })
    expect(matches({ host: 'example.com' }, {})).toBe(true)
    expect(matches({ host: 'example.org' }, {})).toBe(false)
    expect(matches({ host: link, due: null }, {})).toBe(true)
    expect(matches({ host: link, due: null }, { due: published })).toBe(false)
    expect(matches({ host: link, due: { lt: published } }, {})).toBe(false)
    expect(matches({ host: link, due: { lt: published } }, { due: new Date(4) })).toBe(true)
    expect(matches({ host: link, due: null, title: 'HOW' }, { title: 'how' })).toBe(true)
    expect(matches({ host: link, due: null, title: 'HOW' }, { title: 'now' })).toBe(false)
  })

  it('a query goes to the shard of the key', () => {
    const byDay = defineIndex('b', {
      properties: { kind: 'string', user: { type: 'uuid', nulls: 'last' } },
      shardOn: 'user',
    })
    expect(plan(byDay, { kind: 'a', user }).shards).toEqual([2])
    expect(plan(byDay, { kind: 'a', user: null }).shards).toEqual([0])
    expect(errorOf(() => plan(byDay, { kind: 'a', user: { gt: user } })).message).toMatch(/scatter: true/)
  })

  it.each<[string, object, RegExp]>([
    ['null where there are no such rows', { host: null }, /needs a value, .* for host; got null/],
    [
      'null as a bound',
      { host: link, due: { gt: null } },
      /needs a value for gt for due; got null, which has no order/,
    ],
    [
      'a range of hashes',
      { host: link, due: null, title: null, link: { gt: 'a' } },
      /has hashes of link, which have no order/,
    ],
    [
      'startsWith on keys that do not keep beginnings',
      { host: { startsWith: 'exa' } },
      /knows startsWith for strings, .* host has keys that do not begin as its values do/,
    ],
    ['a value of another type', { host: 5 }, /for host: a string is expected, got a number/],
  ])('a query on keys and nulls refuses %s', (_, where, message) => {
    expect(errorOf(() => plan(index, where))).toMatchObject({
      code: 'BAD_QUERY',
      message: expect.stringMatching(message),
    })
  })

  it('null may stand in a list, and is read in the order of the index', () => {
    const { ranges } = plan(index, { host: link, due: { in: [published, null, new Date(1)] } })
    expect(ranges.map(({ range }) => range.prefix.slice(1))).toEqual([
      [0n, 0n],
      [1n, 1000n],
      [1n, 5000n],
    ])
  })

  it('values with one key count once in a list', () => {
    expect(plan(index, { host: { in: [link, 'EXAMPLE.COM', 'example.org'] } }).ranges).toHaveLength(2)
  })

  it('rows with keys and nulls can be counted', () => {
    expect(plan(index, { host: link, due: null }).canCountRows).toBe(true)
  })
})

describe('a valid query', () => {
  it('a query scans the range of its values, on the shard of shardOn', () => {
    const query = plan(byUser, { user, published: { gt: published, lte: new Date(9) } })
    expect(rangesOf(query)).toEqual([
      {
        prefix: [idOf(2)],
        lower: { value: 5000n, inclusive: false },
        upper: { value: 9000n, inclusive: true },
      },
    ])
    expect(query).toMatchObject({ index: 'by_user', shards: [2], order: 'asc', limit: 50 })
  })

  it.each(['a', 'how ', 'é', '\u{10ffff}', ''])(
    'startsWith %j scans all strings with this beginning',
    (startsWith) => {
      const range = rangeOf(plan(byTitle, { title: { startsWith } }, { scatter: true }))
      expect(range.lower).toEqual({ value: Buffer.from(startsWith), inclusive: true })
      const upper = range.upper?.value as Uint8Array | undefined
      for (const end of ['', '\0', 'z', '\u{10ffff}', '\u{10ffff}\u{10ffff}']) {
        const text = Buffer.from(startsWith + end)
        if (upper !== undefined) expect(Buffer.compare(text, upper)).toBeLessThan(0)
      }
      expect(range.upper === undefined).toBe(startsWith === '')
    },
  )

  it('startsWith matches strings with the whole beginning, and no others', () => {
    const long = 'x'.repeat(600)
    for (const [startsWith, title, expected] of [
      ['a', 'abc', true],
      ['a', 'a', true],
      ['a', 'b', false],
      ['a', 'A', false],
      ['a', '', false],
      ['', '', true],
      ['é', 'éa', true],
      ['é', 'ê', false],
      [long, `${long}a`, true],
      [`${long}a`, `${long}b`, false],
      ['\u{10ffff}', '\u{10ffff}\u{10ffff}', true],
    ] as const)
      expect(plan(byTitle, { title: { startsWith } }, { scatter: true }).matches({ title })).toBe(expected)
  })

  it('an empty where scans the whole index', () => {
    expect(plan(byUser, {}, { scatter: true })).toMatchObject({
      ranges: [{ range: { prefix: [] } }],
      shards: [0, 1, 2, 3],
    })
  })

  it('a query with scatter and a value for shardOn still asks one shard', () => {
    expect(plan(byUser, { user }, { scatter: true }).shards).toEqual([2])
  })

  it('a query matches a bag that has all properties and satisfies the conditions', () => {
    const query = plan(byUser, { user, published: { gte: published } })
    expect(query.matches({ user, published, title: '' })).toBe(true)
    expect(query.matches({ user: user.toUpperCase(), published, title: '' })).toBe(true)
    expect(query.matches({ user, published })).toBe(false)
    expect(query.matches({ user, published: new Date(4), title: '' })).toBe(false)
    expect(query.matches({ user: [user], published, title: '' })).toBe(false)
  })

  it('a query matches a bag by any element, and places it at the first matching one', () => {
    const bag = { tags: ['c', 'a', 'b'], rank: 1 }
    const where = { tags: { gte: 'b' } }
    expect(plan(byTag, { tags: 'b' }, { scatter: true }).firstKey(bag)).toEqual([Buffer.from('b'), 1n])
    expect(plan(byTag, where, { scatter: true }).firstKey(bag)).toEqual([Buffer.from('b'), 1n])
    expect(plan(byTag, where, { scatter: true, order: 'desc' }).firstKey(bag)).toEqual([Buffer.from('c'), 1n])
    expect(plan(byTag, { tags: { gt: 'c' } }, { scatter: true }).firstKey(bag)).toBeUndefined()
  })
})

describe('a list of values', () => {
  const prefixesOf = (query: QueryPlan): unknown[] => rangesOf(query).map(({ prefix }) => prefix)
  const a = Buffer.from('a')
  const b = Buffer.from('b')

  it('a list makes a range per distinct value, in the order of the index, on the shard of each', () => {
    const query = plan(byTitle, { title: { in: ['b', '', 'a', 'b'] } }, { order: 'desc' })
    expect(prefixesOf(query)).toEqual([[Buffer.alloc(0)], [a], [b]])
    // The router takes the last byte modulo four.
    expect(query.ranges.map(({ shards }) => shards)).toEqual([[0], [1], [2]])
    expect(query.shards).toEqual([0, 1, 2])
  })

  it('a list of integers is sorted by size, and has zero once', () => {
    const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })
    const query = plan(byRank, { rank: { in: [10, 9, -1n, 0, -0, 2n ** 63n - 1n] } })
    expect(prefixesOf(query)).toEqual([[-1n], [0n], [9n], [10n], [2n ** 63n - 1n]])
  })

  it('a list may stand before a range, and beside values and other lists', () => {
    const query = plan(byUser, {
      user: { in: [user3, user] },
      published: { in: [new Date(7), published] },
      title: { gte: 'a' },
    })
    const lower = { value: a, inclusive: true }
    expect(rangesOf(query)).toEqual(
      [
        [idOf(2), 5000n],
        [idOf(2), 7000n],
        [idOf(3), 5000n],
        [idOf(3), 7000n],
      ].map((prefix) => ({ prefix, lower })),
    )
    expect(query.shards).toEqual([2, 3])
    expect(prefixesOf(plan(byUser, { user, published: { in: [published] }, title: 'b' }))).toEqual([
      [idOf(2), 5000n, b],
    ])
  })

  it('a list matches any of its values, at the first row in the order of the query', () => {
    const where = { tags: { in: ['c', 'a'] }, rank: { gt: 0 } }
    const bag = { tags: ['b', 'c', 'a'], rank: 1 }
    expect(plan(byTag, where, { scatter: true }).firstKey(bag)).toEqual([a, 1n])
    expect(plan(byTag, where, { scatter: true, order: 'desc' }).firstKey(bag)).toEqual([Buffer.from('c'), 1n])
    expect(plan(byTag, where, { scatter: true }).matches({ tags: ['b'], rank: 1 })).toBe(false)
    expect(plan(byTag, where, { scatter: true }).matches({ tags: ['a'], rank: 0 })).toBe(false)
  })

  it('a list compares strings of more than 512 bytes as a whole', () => {
    const long = 'x'.repeat(600)
    const query = plan(byTitle, { title: { in: [`${long}b`, 'x', `${long}a`, `${long}b`] } })
    expect(query.ranges).toHaveLength(3)
    expect(query.canCountRows).toBe(true)
    for (const [title, expected] of [
      ['x', true],
      [`${long}a`, true],
      [`${long}b`, true],
      [long, false],
      [`${long}c`, false],
    ] as const)
      expect(query.matches({ title })).toBe(expected)
  })

  it('a list with repeats may have 100 distinct values', () => {
    const ranks = Array.from({ length: 100 }, (_, i) => i)
    const where = { tags: { in: ['a'] }, rank: { in: [...ranks, 99] } }
    expect(plan(byTag, where, { scatter: true }).ranges).toHaveLength(100)
  })

  it('planQuery reads no more values of a list than it accepts', () => {
    let reads = 0
    const listOf = (length: number): unknown[] =>
      new Proxy(
        Array.from({ length }, (_, i) => i),
        {
          get(list, name) {
            if (typeof name === 'string' && /^[0-9]+$/.test(name)) reads++
            return Reflect.get(list, name) as unknown
          },
        },
      )
    const refusal = (list: unknown): string =>
      errorOf(() => plan(byTag, { tags: 'a', rank: { in: list } }, { scatter: true })).message
    expect(refusal(listOf(5_000))).toMatch(/up to 100 different values for in for rank; got 101 and more/)
    expect(reads).toBe(101)
    expect(refusal(listOf(10_001))).toMatch(/takes arrays of up to 10000 values for in for rank; got 10001/)
    expect(reads).toBe(101)
    const endless = Object.assign([1, 2], {
      *[Symbol.iterator]() {
        for (;;) yield 1
      },
    })
    expect(plan(byTag, { tags: 'a', rank: { in: endless } }, { scatter: true }).ranges).toHaveLength(2)
  })
})

describe('an invalid query', () => {
  it.each<[string, IndexDefinition, unknown, object, RegExp]>([
    ['no where', byUser, undefined, {}, /Index by_user needs an object .* got nothing/],
    ['a list', byUser, [user], {}, /got an array of 1 element/],
    ['an object of a class', byUser, new URL('https://example.org'), {}, /got an object of class URL/],
    [
      'an unknown property',
      byUser,
      { usr: user },
      {},
      /by_user has no property usr; it has user, published, title/,
    ],
    ['a gap', byUser, { user, title: 'x' }, {}, /cannot use title without a value of published/],
    [
      'a property of on',
      defineIndex('open', { properties: { title: 'string' }, shardOn: 'id', on: { 'is.open': true } }),
      { 'is.open': true, title: 'x' },
      {},
      /open has is\.open in the `on` of its definition, so a query cannot name it: leave it out/,
    ],
    [
      'a property behind a range',
      byUser,
      { user, published: { gt: published }, title: 'x' },
      {},
      /cannot use title behind the range on published/,
    ],
    ['an empty range', byUser, { user, published: {} }, {}, /empty range for published/],
    [
      'an unknown operator',
      byUser,
      { user, published: { above: published } },
      {},
      /^Index by_user has no condition above for published; there are gt, gte, lt, lte and in, and startsWith for strings\.$/,
    ],
    [
      'two lower bounds',
      byUser,
      { user, published: { gt: published, gte: published } },
      {},
      /both gt and gte for published/,
    ],
    [
      'two upper bounds',
      byUser,
      { user, published: { lt: published, lte: published } },
      {},
      /both lt and lte for published/,
    ],
    [
      'a wrong type',
      byUser,
      { user, published: '2009' },
      {},
      /needs a value, a range .* or a list .* for published: a valid Date is expected, got a string of 4 characters/,
    ],
    [
      'a bound of a wrong type',
      byUser,
      { user, published: { gt: 5 } },
      {},
      /needs a value for gt for published: a valid Date is expected, got a number/,
    ],
    [
      'an undefined bound',
      byUser,
      { user, published: { gt: undefined } },
      {},
      /a value for gt for published; got nothing/,
    ],
    [
      'a list of 101 values',
      byTitle,
      { title: { in: Array.from({ length: 101 }, (_, i) => `${i}`) } },
      {},
      /up to 100 different values for in for title; got 101/,
    ],
    [
      'lists that make more than 100 ranges',
      byUser,
      {
        user: { in: [user, user3] },
        published: { in: Array.from({ length: 51 }, (_, i) => new Date(i)) },
      },
      {},
      /100 ranges for a query at the most; the lists for user and published make 102/,
    ],
    [
      'a string as a list',
      byTitle,
      { title: { in: 'ab' } },
      {},
      /an array of up to 100 values for in for title; got a string of 2 characters/,
    ],
    [
      'a set',
      byTitle,
      { title: { in: new Set(['a']) } },
      {},
      /an array of up to 100 values for in for title; got an object of class Set/,
    ],
    [
      'a list with a value of a wrong type',
      byTitle,
      { title: { in: ['a', 5] } },
      {},
      /needs values for in for title: a string is expected, got a number/,
    ],
    ['a list with null', byTitle, { title: { in: ['a', null] } }, {}, /values for in for title; got null/],
    // oxlint-disable-next-line no-sparse-arrays
    ['a list with a hole', byTitle, { title: { in: ['a', , 'b'] } }, {}, /for in for title; got nothing/],
    ['a list in a list', byTag, { tags: { in: [['a']] } }, { scatter: true }, /\(of an element\) for tags/],
    [
      'a list and a bound',
      byTitle,
      { title: { in: ['a'], gt: '' } },
      {},
      /got in and other bounds for title/,
    ],
    [
      'a list behind a range',
      byUser,
      { user, published: { gt: published }, title: { in: ['x'] } },
      {},
      /cannot use title behind the range on published/,
    ],
    [
      'a list behind a gap',
      byUser,
      { user, title: { in: ['x'] } },
      {},
      /cannot use title without a value of published/,
    ],
    ['an undefined value', byUser, { user: undefined }, {}, /for user; got nothing, which no index row has/],
    ['null', byUser, { user: null }, {}, /for user; got null/],
    [
      'an array in place of an element',
      byTag,
      { tags: ['x'] },
      { scatter: true },
      /\(of an element\) for tags: a string is expected, got an array/,
    ],
    [
      'no shard',
      byUser,
      {},
      {},
      /by_user is sharded on user: give a value or a list for it, or ask all shards with \{ scatter: true \}/,
    ],
    ['a range on the shard', byUser, { user: { gt: user } }, {}, /scatter: true/],
    [
      'no scatter on an index kept by id',
      byTag,
      { tags: 'x' },
      {},
      /shards of their entities, so a query has to ask all of them: give \{ scatter: true \}/,
    ],
    [
      'an order',
      byUser,
      { user },
      { order: 'up' },
      /order has to be 'asc' or 'desc'; got a string of 2 characters/,
    ],
    ['a limit of 0', byUser, { user }, { limit: 0 }, /limit has to be a whole number from 1 to 1000; got 0/],
    ['a limit of 1,001', byUser, { user }, { limit: 1001 }, /got 1001/],
    ['a limit that is not whole', byUser, { user }, { limit: 1.5 }, /got 1.5/],
    ['a limit in words', byUser, { user }, { limit: '5' }, /got a string/],
    [
      'a scatter that is no boolean',
      byUser,
      { user },
      { scatter: 'yes' },
      /scatter has to be true or false; got a string/,
    ],
  ])('planQuery refuses %s', (_, index, where, options, message) => {
    const error = errorOf(() => plan(index, where, options))
    expect(error.code).toBe('BAD_QUERY')
    expect(error.message).toMatch(message)
  })

  it('the message of an invalid query has no values', () => {
    const error = errorOf(() => plan(byUser, { user: 'a secret' }))
    expect(error.message).not.toContain('secret')
  })
})

describe('a range over strings of more than 512 bytes', () => {
  /** Titles that are equal, or nearly equal, up to and beyond the 512 bytes that an index keeps. */
  const title = fc
    .tuple(
      fc.constantFrom(0, 1, 510, 511, 512, 513, 600),
      fc.constantFrom('', 'a', 'b', 'é', 'ab', '\u{1f600}'),
    )
    .map(([length, end]) => 'x'.repeat(length) + end)
  const operator = fc.constantFrom('gt', 'gte', 'lt', 'lte')

  it('a range scans every matching row, and matches by whole strings', () => {
    fc.assert(
      fc.property(title, operator, title, (stored, op, bound) => {
        const query = plan(byTitle, { title: { [op]: bound } }, { scatter: true })
        const order = Buffer.compare(Buffer.from(stored), Buffer.from(bound))
        const expected = { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[op]
        const bag: Bag = { title: stored }
        expect(query.matches(bag)).toBe(expected)
        const [key = []] = deriveRows(byTitle, bag).keys
        expect(expected === false || inRange(rangeOf(query), { key })).toBe(true)
      }),
      { numRuns: runsOf(1000) },
    )
  })

  it('a short bound scans exactly its range, and a long bound all rows with its beginning', () => {
    const scanned = (bound: string, stored: string): boolean => {
      const [key = []] = deriveRows(byTitle, { title: stored }).keys
      return inRange(rangeOf(plan(byTitle, { title: { lt: bound } }, { scatter: true })), { key })
    }
    const long = 'x'.repeat(512)
    expect(scanned(long, `${long}a`)).toBe(false)
    expect(scanned(`${long}b`, `${long}c`)).toBe(true)
    expect(scanned(`${long}b`, 'y')).toBe(false)
  })

  it('equality compares long strings as a whole', () => {
    const long = 'x'.repeat(600)
    const query = plan(byTitle, { title: long })
    expect(query.matches({ title: long })).toBe(true)
    expect(query.matches({ title: `${long}x` })).toBe(false)
  })
})
