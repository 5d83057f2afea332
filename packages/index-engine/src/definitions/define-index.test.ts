import type { CatalogEntry } from '@looseleaf/core/internal'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it } from 'vitest'
import { defineIndex, definitionData, definitionFromData, type IndexDefinition } from './define-index.ts'
import {
  entriesOf,
  isClaimsOf,
  isEntryOf,
  sameEntry,
  sameRows,
  tableName,
  tableSpec,
} from './catalog-entries.ts'
import { propertyText } from './parse-property.ts'

const entriesByUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', tags: 'string[]', published: 'time' },
  shardOn: 'user_id',
})

/** `defineIndex` for a program without types. */
const define = defineIndex as (name: unknown, options: unknown) => IndexDefinition

describe('a definition', () => {
  it('a definition is plain data in the order of its properties, and refuses misfits by default', () => {
    expect(definitionData(entriesByUser)).toEqual({
      name: 'entries_by_user',
      properties: [
        { name: 'user_id', type: 'uuid', many: false },
        { name: 'tags', type: 'string', many: true },
        { name: 'published', type: 'time', many: false },
      ],
      shardOn: 'user_id',
      onMisfit: 'refuse',
    })
    expect(entriesByUser.types).toEqual({ user_id: 'uuid', tags: 'string[]', published: 'time' })
  })

  it('a definition is frozen', () => {
    expect(Object.isFrozen(entriesByUser)).toBe(true)
    expect(Object.isFrozen(entriesByUser.properties)).toBe(true)
    expect(Object.isFrozen(entriesByUser.properties[0])).toBe(true)
    expect(Object.isFrozen(entriesByUser.types)).toBe(true)
  })

  it('a definition survives plain data and JSON', () => {
    const data = JSON.parse(JSON.stringify(definitionData(entriesByUser)))
    expect(definitionData(definitionFromData(data))).toEqual(definitionData(entriesByUser))
    expect(definitionFromData(data).types).toEqual(entriesByUser.types)
  })

  it('a property may have a name of Object.prototype', () => {
    expect(define('a', { properties: { constructor: 'uuid' }, shardOn: 'constructor' }).shardOn).toBe(
      'constructor',
    )
  })

  it('getAll of a definition calls getAll of the store', async () => {
    const calls: unknown[] = []
    const store = { getAll: async (...call: unknown[]) => (calls.push(call), []) }
    const user_id = '00112233-4455-6677-8899-aabbccddeeff'
    expect(await entriesByUser.getAll(store, { user_id }, { order: 'desc' })).toEqual([])
    expect(calls).toEqual([[entriesByUser, { user_id }, { order: 'desc' }]])
  })
})

describe('an invalid definition', () => {
  const properties = { user_id: 'uuid' }
  const shardOn = 'user_id'
  const strings = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, 'string']))

  it.each<[string, unknown, unknown, RegExp]>([
    [
      'a name with capitals',
      'Entries',
      { properties, shardOn },
      /name of an index begins with a letter .* got "Entries"/,
    ],
    ['a name of 41 characters', 'a'.repeat(41), { properties, shardOn }, /40 characters at the most/],
    ['no name', undefined, { properties, shardOn }, /got nothing/],
    [
      'a misspelt option',
      'a',
      { properties, shardOn, onMisfits: 'skip' },
      /Index a has no option "onMisfits"; there are properties, shardOn, onMisfit, unique, near, include, on, expires\./,
    ],
    ['an option of other stores', 'a', { properties, shardOn, sparse: true }, /has no option "sparse"/],
    ['unique as a word', 'a', { properties, shardOn, unique: 'yes' }, /needs unique to be true or false/],
    [
      'unique beside its entities',
      'a',
      { properties, shardOn: 'id', unique: true },
      /is unique, so shardOn has to be a property/,
    ],
    ['a reserved name', 'looseleaf_x', { properties, shardOn }, /Index looseleaf_x needs another name/],
    [
      'the name of the entity table',
      'entities',
      { properties, shardOn },
      /Index entities needs another name/,
    ],
    [
      'a name like the table of a later generation',
      'entries_2',
      { properties, shardOn },
      /reads like a later generation/,
    ],
    ['no options', 'a', undefined, /Index a needs options .* got nothing/],
    ['no properties', 'a', { shardOn }, /Index a needs properties .* got nothing/],
    ['a list of properties', 'a', { properties: ['user_id'], shardOn }, /got an array of 1 element/],
    ['empty properties', 'a', { properties: {}, shardOn }, /1 to 8 properties; got 0/],
    [
      'nine properties',
      'a',
      { properties: Object.fromEntries([...'abcdefghi'].map((p) => [p, 'uuid'])), shardOn: 'a' },
      /got 9/,
    ],
    [
      'the property id',
      'a',
      { properties: { id: 'uuid' }, shardOn: 'id' },
      /cannot have the property id: .* read by id with get/,
    ],
    [
      'the property __proto__',
      'a',
      { properties: JSON.parse('{"__proto__":"uuid"}'), shardOn: 'id' },
      /cannot have the property __proto__/,
    ],
    ['an empty property name', 'a', { properties: { '': 'uuid' }, shardOn: '' }, /1 to 64 characters/],
    [
      'a property name of 65 characters',
      'a',
      { properties: { ['p'.repeat(65)]: 'uuid' }, shardOn: 'id' },
      /1 to 64 characters/,
    ],
    [
      'an unknown type',
      'a',
      { properties: { p: 'text' }, shardOn: 'p' },
      /type of p has to be .* got 'text'/,
    ],
    [
      'a name of Object.prototype as a type',
      'a',
      { properties: { p: 'constructor' }, shardOn: 'p' },
      /got 'constructor'/,
    ],
    ['a type that is no string', 'a', { properties: { p: 5 }, shardOn: 'p' }, /got a number/],
    [
      '[] in the name of a property',
      'a',
      { properties: { 'authors[].id': 'uuid' }, shardOn: 'id' },
      /"authors\[\].id" has \[\] in its name/,
    ],
    [
      '[] in include',
      'a',
      { properties: { p: 'uuid' }, shardOn: 'p', include: ['tags[]'] },
      /"tags\[\]" has \[\] in its name/,
    ],
    ['an array of arrays', 'a', { properties: { p: 'string[][]' }, shardOn: 'p' }, /got 'string\[\]\[\]'/],
    [
      'two arrays',
      'a',
      { properties: { p: 'string[]', q: 'uuid[]' }, shardOn: 'p' },
      /2 properties with \[\]; one at the most/,
    ],
    [
      'a shardOn that is no property',
      'a',
      { properties, shardOn: 'user' },
      /shardOn to be one of 'user_id', 'id'; got a string/,
    ],
    ['no shardOn', 'a', { properties }, /shardOn to be one of 'user_id', 'id'; got nothing/],
    [
      'an unknown option of a property',
      'a',
      { properties: { user_id: { type: 'uuid', unique: true } }, shardOn },
      /Index a: user_id has no option "unique"; there are type, of, key, order, nulls\./,
    ],
    [
      'a property without a type',
      'a',
      { properties: { user_id: {} }, shardOn },
      /type of user_id .* got nothing/,
    ],
    [
      'an unknown key',
      'a',
      { properties: { user_id: { type: 'string', key: 'upper' } }, shardOn },
      /key of user_id has to be 'lower', .* or what defineKey gave; got 'upper'/,
    ],
    [
      'a key of another type',
      'a',
      { properties: { user_id: { type: 'string', key: 'day' } }, shardOn },
      /key day needs a property of type time; user_id has type string/,
    ],
    [
      'nulls as a boolean',
      'a',
      { properties: { a: 'uuid', b: { type: 'uuid', nulls: true } }, shardOn: 'a' },
      /nulls of b have to be 'first', 'last' or 'skip'; got a boolean/,
    ],
    [
      'an unknown order',
      'a',
      { properties: { a: 'uuid', b: { type: 'uuid', order: 'down' } }, shardOn: 'a' },
      /the order of b has to be 'asc' or 'desc'; got 'down'/,
    ],
    [
      'nulls everywhere',
      'a',
      { properties: { user_id: { type: 'uuid', nulls: 'last' } }, shardOn },
      /nulls for all of its properties, so every entity of the store would have a row/,
    ],
    [
      'a reserved name as the path of a property',
      'a',
      { properties: { user_id: { type: 'uuid', of: 'id' } }, shardOn },
      /cannot have the property id/,
    ],
    [
      'dots in the name of a property with of',
      'a',
      { properties: { 'a.b': { type: 'uuid', of: 'c' } }, shardOn: 'id' },
      /a\.b has its path in "of", so its name may not have dots/,
    ],
    [
      'a property with the name of a mark column',
      'a',
      { properties: { a: { type: 'uuid', nulls: 'first' }, a_is_there: 'uuid' }, shardOn: 'a' },
      /column would have the same name/,
    ],
    [
      'an unknown onMisfit',
      'a',
      { properties, shardOn, onMisfit: 'drop' },
      /onMisfit to be 'refuse' or 'skip'/,
    ],
    [
      'six strings',
      'a',
      { properties: strings(6), shardOn: 'id' },
      /up to 3280 bytes with its 6 strings of up to 544 bytes each; MySQL holds 3072/,
    ],
    [
      'names whose order objects do not keep',
      'a',
      { properties: { user: 'uuid', 7: 'uuid' }, shardOn: 'user' },
      /do not keep the order/,
    ],
  ])('defineIndex refuses %s', (_, name, options, message) => {
    const error = errorOf(() => define(name, options))
    expect(error.code).toBe('BAD_INDEX')
    expect(error.message).toMatch(message)
  })

  it('invalid plain data is refused', () => {
    for (const data of [
      undefined,
      { name: 'a' },
      { ...entriesByUser, properties: [5] },
      { ...entriesByUser, properties: [] },
    ]) {
      expect(errorOf(() => definitionFromData(data as never)).code).toBe('BAD_INDEX')
    }
    const twice = [entriesByUser.properties[0], entriesByUser.properties[0]]
    expect(
      errorOf(() => definitionFromData({ ...entriesByUser, properties: twice as never })).message,
    ).toMatch(/twice/)
  })

  it('five strings with three other properties are valid, and so is a year within a name', () => {
    expect(
      define('a', { properties: { ...strings(5), q: 'uuid', r: 'time', s: 'number' }, shardOn: 'q' }).name,
    ).toBe('a')
    expect(define('entries_2009_on', { properties, shardOn }).name).toBe('entries_2009_on')
    expect(define('a', { properties: { 7: 'uuid' }, shardOn: '7' }).shardOn).toBe('7')
  })
})

describe('a property with options', () => {
  const index = defineIndex('a', {
    properties: {
      user_id: { type: 'uuid' },
      initial: { type: 'string[]', of: 'author.names', key: 'prefix(1)', nulls: 'last' },
      link: { type: 'string', of: 'link', key: 'hash' },
      score: { type: 'integer', order: 'desc', nulls: 'first' },
      rank: { type: 'integer', order: 'asc' },
    },
    shardOn: 'initial',
  })

  it('the plain data of a property has the given options only', () => {
    expect(JSON.parse(JSON.stringify(index.properties))).toStrictEqual([
      { name: 'user_id', type: 'uuid', many: false },
      { name: 'initial', type: 'string', many: true, of: 'author.names', key: 'prefix(1)', nulls: 'last' },
      { name: 'link', type: 'string', many: false, key: 'hash' },
      { name: 'score', type: 'integer', many: false, order: 'desc', nulls: 'first' },
      { name: 'rank', type: 'integer', many: false },
    ])
    expect(index.types).toEqual({
      user_id: 'uuid',
      initial: { type: 'string[]', of: 'author.names', key: 'prefix(1)', nulls: 'last' },
      link: { type: 'string', key: 'hash' },
      score: { type: 'integer', order: 'desc', nulls: 'first' },
      rank: 'integer',
    })
  })

  it('a property with options survives JSON', () => {
    const data = JSON.parse(JSON.stringify(definitionData(index)))
    expect(definitionFromData(data).types).toEqual(index.types)
    expect(sameRows(definitionFromData(data), index)).toBe(true)
  })

  it.each(['of', 'key', 'order', 'nulls'])('a property with another %s gives other rows', (option) => {
    const properties = index.properties.map((property) => ({ ...property, [option]: undefined }))
    expect(sameRows({ ...index, properties }, index)).toBe(false)
    expect(sameRows(index, { ...index, properties })).toBe(false)
  })

  it('a property with nulls has a mark column before its column', () => {
    expect(tableSpec({ ...index, table: 't' }).columns).toEqual([
      { name: 'user_id', type: 'uuid' },
      { name: 'initial_is_null', type: 'boolean' },
      { name: 'initial', type: 'string' },
      { name: 'link', type: 'uuid' },
      // Absent values come first, whatever the direction of the values.
      { name: 'score_is_there', type: 'boolean' },
      { name: 'score', type: 'integer', order: 'desc' },
      { name: 'rank', type: 'integer' },
    ])
  })

  it('propertyText describes a property', () => {
    const due = defineIndex('b', {
      properties: { due: { type: 'time', of: 'dates.due', nulls: 'first' }, s: 'string' },
      shardOn: 's',
    })
    expect([...index.properties, ...due.properties].map(propertyText)).toEqual([
      'user_id uuid',
      'initial prefix(1) of author.names string[], nulls last',
      'link hash of link string',
      'score integer desc, nulls first',
      'rank integer',
      'due is dates.due time, nulls first',
      's string',
    ])
  })
})

describe('a unique definition', () => {
  const options = { properties: { mail: 'string' }, shardOn: 'mail' } as const
  const unique = defineIndex('users_by_mail', { ...options, unique: true })

  it('the plain data of a unique definition says so, and survives JSON', () => {
    expect(definitionData(unique)).toMatchObject({ name: 'users_by_mail', unique: true })
    expect(definitionData(definitionFromData(JSON.parse(JSON.stringify(unique))))).toEqual(
      definitionData(unique),
    )
    expect(definitionData(defineIndex('a', { ...options, unique: false }))).not.toHaveProperty('unique')
  })

  it('a unique definition has an entry for its rows and one for its claims, with tables of their own', () => {
    const [rows, claims] = entriesOf(unique)
    expect(rows).toEqual(definitionData(defineIndex('users_by_mail', options)))
    expect(claims).toEqual(definitionData(unique))
    expect(entriesOf(unique).map((entry) => tableName(entry, 2))).toEqual([
      'index_users_by_mail_2',
      'claims_users_by_mail_2',
    ])
    expect(tableSpec({ ...unique, table: 't' })).toMatchObject({ unique: true })
    expect(tableSpec({ ...definitionData(rows!), table: 't' })).not.toHaveProperty('unique')
  })

  it.each([
    ['include', { include: ['name'] }, true],
    ['onMisfit', { onMisfit: 'skip' }, true],
    ['name', { name: 'users' }, false],
    ['on', { on: { kind: 'user' } }, false],
    ['order', { properties: { mail: { type: 'string', order: 'desc' } } }, false],
    ['key', { properties: { mail: { type: 'string', key: 'lower' } } }, false],
    ['path', { properties: { mail: { type: 'string', of: 'address' } } }, false],
    ['property', { properties: { mail: 'string', n: { type: 'integer', nulls: 'last' } } }, false],
  ])('a definition shares claims only with one of the same keys: another %s', (_, change, isShared) => {
    const { name, ...changed } = { name: unique.name, ...options, unique: true, ...change }
    const other = define(name, changed)
    const [rows, claims] = entriesOf(other)
    expect(entriesOf(unique).map((entry) => isClaimsOf(entry, other))).toEqual([false, isShared])
    expect(entriesOf(unique).map((entry) => isClaimsOf(entry, rows!))).toEqual([false, isShared])
    expect(isEntryOf(claims!, unique)).toBe(isShared)
    expect(sameEntry(claims!, entriesOf(unique)[1]!)).toBe(isShared)
    expect(sameEntry(rows!, claims!)).toBe(false)
  })

  it('a unique definition has the same rows as one that is not unique', () => {
    expect(sameRows(unique, defineIndex('users_by_mail', options))).toBe(true)
  })
})

describe('two definitions', () => {
  const other = (change: object): IndexDefinition =>
    definitionFromData({ ...definitionData(entriesByUser), ...change })

  it('definitions have the same rows if they include the same properties in any order', () => {
    const include = (...names: string[]): IndexDefinition => other({ include: names })
    expect(sameRows(include('a', 'b'), include('b', 'a'))).toBe(true)
    expect(sameRows(include('a', 'b'), include('a,b'))).toBe(false)
    expect(sameRows(include('a', 'b'), include('a', 'c'))).toBe(false)
    expect(sameRows(include('a'), include('a', 'b'))).toBe(false)
  })

  it('definitions have the same rows if only onMisfit differs', () => {
    expect(sameRows(entriesByUser, other({}))).toBe(true)
    expect(sameRows(entriesByUser, other({ onMisfit: 'skip' }))).toBe(true)
  })

  it.each([
    ['name', { name: 'b' }],
    ['shardOn', { shardOn: 'id' }],
    ['order of properties', { properties: entriesByUser.properties.toReversed() }],
    ['number of properties', { properties: entriesByUser.properties.slice(0, 2) }],
    [
      'type',
      {
        properties: entriesByUser.properties.map((p) => (p.type === 'time' ? { ...p, type: 'integer' } : p)),
      },
    ],
    ['arrays', { properties: entriesByUser.properties.map((p) => ({ ...p, many: false })) }],
    ['include', { include: ['a'] }],
    ['on', { on: { kind: 'user' } }],
  ])('definitions have other rows if they differ in %s', (_, change) => {
    expect(sameRows(entriesByUser, other(change))).toBe(false)
    expect(sameRows(other(change), entriesByUser)).toBe(false)
  })
})

it('each generation has a table of its own, with a column per property', () => {
  expect(tableName(entriesByUser, 1)).toBe('index_entries_by_user')
  expect(tableName(entriesByUser, 2)).toBe('index_entries_by_user_2')
  const entry: CatalogEntry = {
    ...entriesByUser,
    generation: 2,
    table: tableName(entriesByUser, 2),
    state: 'ready',
  }
  expect(tableSpec(entry)).toEqual({
    table: 'index_entries_by_user_2',
    columns: [
      { name: 'user_id', type: 'uuid' },
      { name: 'tags', type: 'string' },
      { name: 'published', type: 'time' },
    ],
  })
  expect(tableSpec(entry)).toBe(tableSpec(entry))
})
