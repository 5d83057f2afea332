import { defineIndex } from '@looseleaf/index-engine'
import { definitionFromData } from '@looseleaf/index-engine/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { byAge, MARKER, refuses, type Case } from './refusals.ts'

const define = defineIndex as unknown as (name?: unknown, options?: unknown) => unknown
const fine = { properties: { age: 'integer' }, shardOn: 'id' }

/** Arguments that `defineIndex` must refuse. */
const definitions: readonly (readonly [what: string, name: unknown, options: unknown, names: RegExp])[] = [
  ['no name', undefined, fine, /name of an index.*nothing/],
  ['a name of null', null, fine, /name of an index.*null/],
  ['a number for a name', 5, fine, /name of an index.*a number/],
  ['an object for a name', { name: 'x' }, fine, /name of an index.*an object/],
  ['an empty name', '', fine, /name of an index.*got ""/],
  ['a name in capitals', 'By_age', fine, /name of an index.*"By_age"/],
  ['a name that begins with a digit', '2nd', fine, /name of an index/],
  ['a name that begins with _', '_x', fine, /name of an index/],
  ['a name with a hyphen', 'by-age', fine, /name of an index/],
  ['a name with a space', 'by age', fine, /name of an index/],
  ['a name with a point', 'a.b', fine, /name of an index/],
  ['a name with a quote', 'a`b', fine, /name of an index/],
  ['a name with a statement', 'a; DROP TABLE x', fine, /name of an index/],
  ['a name with a line break behind it', 'by_age\n', fine, /name of an index/],
  ['a name with an umlaut', 'nach_größe', fine, /name of an index/],
  ['a name of 41 characters', 'x'.repeat(41), fine, /40 characters/],
  ['a name like a later generation', 'by_age_2', fine, /by_age_2 needs another name/],
  ['a name like a much later generation', 'by_age_10', fine, /by_age_10 needs another name/],
  ['the name of the entities', 'entities', fine, /entities needs another name/],
  ['a name that is kept for the store', 'looseleaf_meta', fine, /looseleaf_meta needs another name/],
  ['no options', 'x', undefined, /Index x needs options.*nothing/],
  ['options of null', 'x', null, /Index x needs options.*null/],
  ['options in words', 'x', MARKER, /Index x needs options.*a string/],
  ['options in an array', 'x', ['age'], /Index x needs options.*an array/],
  ['no properties', 'x', { shardOn: 'id' }, /Index x needs properties.*nothing/],
  ['properties of null', 'x', { properties: null, shardOn: 'id' }, /Index x needs properties.*null/],
  [
    'properties in an array',
    'x',
    { properties: ['age'], shardOn: 'id' },
    /Index x needs properties.*an array/,
  ],
  [
    'a property for properties',
    'x',
    { properties: 'age', shardOn: 'id' },
    /Index x needs properties.*a string/,
  ],
  [
    'a path with an empty step',
    'x',
    { properties: { 'a..b': 'string' }, shardOn: 'id' },
    /property "a\.\.b" has a dot without a name before or behind it/,
  ],
  [
    'a path without an end',
    'x',
    { properties: { 'a.': 'string' }, shardOn: 'id' },
    /"a\." has a dot without/,
  ],
  [
    'a path without a beginning',
    'x',
    { properties: { '.a': 'string' }, shardOn: 'id' },
    /"\.a" has a dot without/,
  ],
  [
    'a path through __proto__',
    'x',
    { properties: { 'a.__proto__.b': 'string' }, shardOn: 'id' },
    /cannot have the property a\.__proto__\.b/,
  ],
  [
    'properties without any',
    'x',
    { properties: {}, shardOn: 'id' },
    /Index x has to have 1 to 8 properties; got 0/,
  ],
  [
    'nine properties',
    'x',
    { properties: Object.fromEntries([...'abcdefghi'].map((name) => [name, 'integer'])), shardOn: 'id' },
    /1 to 8 properties; got 9/,
  ],
  ['the property id', 'x', { properties: { id: 'uuid' }, shardOn: 'id' }, /cannot have the property id/],
  [
    'the property __proto__',
    'x',
    { properties: JSON.parse('{"__proto__": "string"}') as object, shardOn: 'id' },
    /cannot have the property __proto__/,
  ],
  [
    'a property without a name',
    'x',
    { properties: { '': 'string' }, shardOn: 'id' },
    /property names of 1 to 64/,
  ],
  [
    'a property of 65 characters',
    'x',
    { properties: { ['n'.repeat(65)]: 'string' }, shardOn: 'id' },
    /property names of 1 to 64/,
  ],
  [
    'a property with a lone surrogate',
    'x',
    { properties: { '\ud800': 'string' }, shardOn: 'id' },
    /property names of 1 to 64/,
  ],
  [
    'several properties, one a number',
    'x',
    { properties: { b: 'string', 1: 'string' }, shardOn: 'id' },
    /named by a whole number/,
  ],
  ['no type', 'x', { properties: { age: undefined }, shardOn: 'id' }, /type of age.*nothing/],
  ['a type of null', 'x', { properties: { age: null }, shardOn: 'id' }, /type of age.*null/],
  [
    'a constructor for a type',
    'x',
    { properties: { age: Number }, shardOn: 'id' },
    /type of age.*a function/,
  ],
  [
    'an object for a type',
    'x',
    { properties: { age: { type: { of: 'integer' } } }, shardOn: 'id' },
    /type of age.*an object/,
  ],
  [
    'a type of another system',
    'x',
    { properties: { age: 'varchar(255)' }, shardOn: 'id' },
    /type of age.*'varchar/,
  ],
  ['a type in capitals', 'x', { properties: { age: 'INTEGER' }, shardOn: 'id' }, /type of age.*'INTEGER'/],
  [
    'a type that all objects have',
    'x',
    { properties: { age: 'toString' }, shardOn: 'id' },
    /type of age.*'toString'/,
  ],
  ['an array of nothing', 'x', { properties: { age: '[]' }, shardOn: 'id' }, /type of age.*'\[\]'/],
  [
    'an array of arrays',
    'x',
    { properties: { age: 'integer[][]' }, shardOn: 'id' },
    /type of age.*'integer\[\]\[\]'/,
  ],
  ['an array of a type', 'x', { properties: { age: ['integer'] }, shardOn: 'id' }, /type of age.*an array/],
  [
    'two arrays',
    'x',
    { properties: { a: 'string[]', b: 'string[]' }, shardOn: 'id' },
    /2 properties with \[\]/,
  ],
  [
    'six strings',
    'x',
    { properties: Object.fromEntries([...'abcdef'].map((name) => [name, 'string'])), shardOn: 'id' },
    /key of up to \d+ bytes/,
  ],
  ['no shardOn', 'x', { properties: { age: 'integer' } }, /shardOn to be one of 'age', 'id'.*nothing/],
  ['a shardOn of null', 'x', { ...fine, shardOn: null }, /shardOn to be one of.*null/],
  ['a shardOn that is not indexed', 'x', { ...fine, shardOn: 'owner' }, /shardOn to be one of 'age', 'id'/],
  ['an array for shardOn', 'x', { ...fine, shardOn: ['age'] }, /shardOn to be one of.*an array/],
  ['a shard number for shardOn', 'x', { ...fine, shardOn: 0 }, /shardOn to be one of.*a number/],
  [
    'an onMisfit that there is not',
    'x',
    { ...fine, onMisfit: 'ignore' },
    /onMisfit to be 'refuse' or 'skip'/,
  ],
  ['an onMisfit of true', 'x', { ...fine, onMisfit: true }, /onMisfit.*a boolean/],
]

refuses(
  'defineIndex',
  definitions.map(([what, name, options, names]): Case => [
    what,
    () => define(name, options),
    'BAD_INDEX',
    names,
  ]),
)

/** Definitions as plain data, as read from a catalog or another program. */
const data: readonly (readonly [what: string, data: unknown, names: RegExp])[] = [
  ['nothing', undefined, /has to be an object.*nothing/],
  ['null', null, /has to be an object.*null/],
  ['a name', 'by_age', /has to be an object.*a string/],
  // addIndex takes one such array.
  ['arrays of definitions', [[byAge]], /has to be an object.*an array/],
  ['an empty object', {}, /name of an index.*nothing/],
  ['the options of defineIndex', { name: 'x', ...fine }, /Index x needs a list of properties.*an object/],
  [
    'no properties',
    { name: 'x', shardOn: 'id', onMisfit: 'skip' },
    /Index x needs a list of properties.*nothing/,
  ],
  ['an empty list', { ...byAge, properties: [] }, /1 to 8 properties; got 0/],
  ['names for properties', { ...byAge, properties: ['age'] }, /objects in its list.*a string/],
  ['null among properties', { ...byAge, properties: [null] }, /objects in its list.*null/],
  [
    'a property without a name',
    { ...byAge, properties: [{ type: 'integer', many: false }] },
    /property names.*nothing/,
  ],
  [
    'a property without a type',
    { ...byAge, properties: [{ name: 'age', many: false }] },
    /type of age.*nothing/,
  ],
  [
    'a type that cannot be a text',
    { ...byAge, properties: [{ name: 'age', type: Object.create(null), many: true }] },
    /type of age.*an object/,
  ],
  [
    'a type that is a symbol',
    { ...byAge, properties: [{ name: 'age', type: Symbol(MARKER), many: true }] },
    /type of age/,
  ],
  [
    'one property twice',
    { ...byAge, properties: [...byAge.properties, ...byAge.properties] },
    /names a property twice/,
  ],
  ['no onMisfit', { ...byAge, onMisfit: undefined }, /onMisfit.*nothing/],
  ['a shardOn that is not indexed', { ...byAge, shardOn: 'name' }, /shardOn to be one of/],
  ['a name with a quote', { ...byAge, name: 'a`; DROP' }, /name of an index/],
  ['a number for a name', { ...byAge, name: 7 }, /name of an index.*a number/],
]

refuses(
  'definitions as data: by themselves, in addIndex, in open',
  data.map(([what, given, names]): Case => [
    what,
    async ({ store }) => {
      const answers = await Promise.allSettled([
        (async () => definitionFromData(given as never))(),
        (async () => store.addIndex(given))(),
        DataStore.open({ shards: memoryShards(1), indexes: [given as never], migrate: true }),
      ])
      const messages = answers.map((answer) =>
        answer.status === 'rejected' ? String(answer.reason) : 'accepted',
      )
      if (new Set(messages).size > 1) throw new Error(`They say different things: ${messages.join(' / ')}`)
      if (answers[0].status === 'rejected') throw answers[0].reason
    },
    'BAD_INDEX',
    names,
  ]),
)
