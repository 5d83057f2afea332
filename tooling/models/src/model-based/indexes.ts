import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'

/** Indexes that every store of these tests always has. */
export const baseIndexes: readonly IndexDefinition[] = [
  defineIndex('by_string', { properties: { s: 'string' }, shardOn: 's' }),
  defineIndex('by_integer', { properties: { i: 'integer' }, shardOn: 'id', onMisfit: 'skip' }),
  defineIndex('by_number', { properties: { n: 'number' }, shardOn: 'n', onMisfit: 'skip' }),
  defineIndex('by_uuid_time', { properties: { u: 'uuid', t: 'time' }, shardOn: 'u' }),
  defineIndex('composite', {
    properties: { b: 'boolean', s: 'string', i: 'integer' },
    shardOn: 's',
    onMisfit: 'skip',
  }),
  defineIndex('by_tag', {
    properties: { tags: 'string[]', i: 'integer' },
    shardOn: 'tags',
    onMisfit: 'skip',
  }),
  defineIndex('by_flag_tag', {
    properties: { b: 'boolean', tags: 'string[]' },
    shardOn: 'id',
    onMisfit: 'skip',
  }),
  defineIndex('by_times', { properties: { times: 'time[]' }, shardOn: 'times' }),
  defineIndex('by_inner', {
    properties: { 'in.s': 'string', i: 'integer' },
    shardOn: 'in.s',
    onMisfit: 'skip',
  }),
  defineIndex('by_lower', {
    properties: {
      lower: { type: 'string', of: 's', key: 'lower' },
      i: { type: 'integer', nulls: 'first' },
    },
    shardOn: 'lower',
    onMisfit: 'skip',
  }),
  defineIndex('by_hash_and_day', {
    properties: {
      day: { type: 'time', of: 't', key: 'day', nulls: 'last' },
      initial: { type: 'string', of: 's', key: 'prefix(1)' },
      s: { type: 'string', key: 'hash', nulls: 'first' },
    },
    shardOn: 'day',
    onMisfit: 'skip',
  }),
  defineIndex('by_tag_or_none', {
    properties: { b: 'boolean', tags: { type: 'string[]', key: 'lower', nulls: 'last' } },
    shardOn: 'tags',
    onMisfit: 'skip',
  }),
  defineIndex('downward', {
    properties: {
      b: { type: 'boolean', order: 'desc' },
      i: { type: 'integer', order: 'desc', nulls: 'first' },
      s: 'string',
    },
    shardOn: 'id',
    onMisfit: 'skip',
  }),
  defineIndex('tags_downward', {
    properties: {
      tags: { type: 'string[]', order: 'desc' },
      n: 'number',
      t: { type: 'time', order: 'desc' },
    },
    shardOn: 'tags',
    onMisfit: 'skip',
  }),
  defineIndex('list_by_string', {
    properties: { s: 'string', i: { type: 'integer', order: 'desc', nulls: 'last' } },
    shardOn: 's',
    onMisfit: 'skip',
    include: ['b', 'n', 'in', 'in.s', 'tags'],
  }),
  defineIndex('list_by_tag', {
    properties: { tags: { type: 'string[]', key: 'lower' }, 'in.s': { type: 'string', nulls: 'first' } },
    shardOn: 'tags',
    onMisfit: 'skip',
    include: ['s', 't'],
  }),
  // A partial index: other entities may hold any value.
  defineIndex('of_true', {
    properties: { n: 'number', s: { type: 'string', nulls: 'first' } },
    shardOn: 'n',
    on: { b: true },
  }),
  defineIndex('list_of_a', {
    properties: { i: { type: 'integer', nulls: 'last' } },
    shardOn: 'id',
    onMisfit: 'skip',
    include: ['s'],
    on: { 'in.s': '', b: false },
  }),
  defineIndex('by_people', { properties: { 'in.people.name': 'string[]' }, shardOn: 'id', onMisfit: 'skip' }),
]

/** Unique indexes, for stores with one writer at a time, where the winner is certain. */
export const indexesOfOne: readonly IndexDefinition[] = [
  ...baseIndexes,
  defineIndex('only_one', {
    properties: { s: { type: 'string', key: 'lower' }, i: { type: 'integer', nulls: 'last' }, b: 'boolean' },
    shardOn: 's',
    onMisfit: 'skip',
    unique: true,
    include: ['n', 'in', 'times'],
  }),
  defineIndex('only_time', {
    properties: { times: { type: 'time[]', order: 'desc' }, s: 'string' },
    shardOn: 's',
    onMisfit: 'skip',
    unique: true,
    on: { b: true },
  }),
]

/**
 * Indexes that are added and dropped: several definitions of one name, some of which differ only in the
 * handling of misfits or in notation.
 */
export const passingIndexes: readonly IndexDefinition[] = [
  defineIndex('extra', { properties: { i: 'integer', s: 'string' }, shardOn: 'id' }),
  defineIndex('extra', { properties: { i: 'integer', s: 'string' }, shardOn: 'id', onMisfit: 'skip' }),
  defineIndex('extra', { properties: { s: 'string', n: 'number' }, shardOn: 's', onMisfit: 'skip' }),
  defineIndex('extra', {
    properties: { i: { type: 'integer', order: 'desc' }, s: 'string' },
    shardOn: 'id',
    onMisfit: 'skip',
  }),
  defineIndex('extra', {
    properties: { s: 'string', n: 'number' },
    shardOn: 's',
    onMisfit: 'skip',
    include: ['i', 'b'],
  }),
  defineIndex('extra', { properties: { s: 'string', n: 'number' }, shardOn: 's', include: ['b', 'i'] }),
  defineIndex('extra', {
    properties: { s: 'string', n: 'number' },
    shardOn: 's',
    onMisfit: 'skip',
    include: ['i', 'b'],
    on: { b: true },
  }),
  defineIndex('more', { properties: { tags: 'string[]' }, shardOn: 'tags', onMisfit: 'skip' }),
  defineIndex('more', {
    properties: { tags: 'string[]' },
    shardOn: 'tags',
    onMisfit: 'skip',
    on: { b: true },
  }),
  defineIndex('more', {
    properties: { tags: { type: 'string[]', key: 'prefix(1)', nulls: 'first' }, b: 'boolean' },
    shardOn: 'id',
    onMisfit: 'skip',
  }),
]

export const allIndexes: readonly IndexDefinition[] = [...indexesOfOne, ...passingIndexes]
