import type { ShardCatalog } from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { defineIndex } from '../definitions/define-index.ts'
import { defineKey } from '../definitions/key-functions.ts'
import type { PropertyOptions } from '../definitions/property-types.ts'
import { requirementsOf, requireUnderstood } from './requirements.ts'

const catalog = catalogOf()
const nested = defineIndex('nested', { properties: { c: 'string', 'a.b': 'string' }, shardOn: 'c' })
const indexes = (state: 'ready' | 'dropped'): ShardCatalog['indexes'] => [
  { ...nested, generation: 1, table: 'index_nested', state },
]
const all = requirementsOf({ indexes: indexes('ready'), deleteDelayMs: 5 }) ?? []

test('a store requires the features that it uses', () => {
  expect(all.map(({ name }) => name)).toEqual(['delete-delay', 'paths'])
  expect(requirementsOf({ indexes: indexes('ready') })).toEqual([{ name: 'paths', since: '0.1.0' }])
  expect(requirementsOf({ indexes: [], deleteDelayMs: 1 })).toEqual([
    { name: 'delete-delay', since: '0.1.0' },
  ])
  expect(requirementsOf({ indexes: indexes('dropped'), deleteDelayMs: 0 })).toBeUndefined()
  expect(requirementsOf({ indexes: [] })).toBeUndefined()
})

test.each<[string, PropertyOptions]>([
  ['keys', { type: 'string', key: 'lower' }],
  ['keys', { type: 'string', of: 'title' }],
  ['nulls', { type: 'string', nulls: 'first' }],
  ['descending', { type: 'string', order: 'desc' }],
])('a store requires %s for %o', (name, options) => {
  const index = defineIndex('a', { properties: { a: 'string', b: options }, shardOn: 'a' })
  const entry = { ...index, generation: 1, table: 'index_a' }
  expect(requirementsOf({ indexes: [{ ...entry, state: 'building' }] })).toEqual([{ name, since: '0.1.0' }])
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store requires unique for claims', () => {
  const index = defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', unique: true })
  const entry = { ...index, generation: 1, table: 'claims_a' }
  const required = [{ name: 'unique', since: '0.1.0' }]
  expect(requirementsOf({ indexes: [{ ...entry, state: 'retiring' }] })).toEqual(required)
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store requires include for covering indexes', () => {
  const index = defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', include: ['b'] })
  const entry = { ...index, generation: 1, table: 'index_a' }
  const required = [{ name: 'include', since: '0.1.0' }]
  expect(requirementsOf({ indexes: [{ ...entry, state: 'building' }] })).toEqual(required)
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store requires partial for indexes with on', () => {
  const index = defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', on: { kind: 'user' } })
  const entry = { ...index, generation: 1, table: 'index_a' }
  const required = [{ name: 'partial', since: '0.1.0' }]
  expect(requirementsOf({ indexes: [{ ...entry, state: 'retiring' }] })).toEqual(required)
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store requires partial-lists for indexes with a list in on', () => {
  const on = { kind: ['user', 'person'] }
  const index = defineIndex('a', { properties: { a: 'string' }, shardOn: 'a', on })
  const entry = { ...index, generation: 1, table: 'index_a' }
  const required = ['partial', 'partial-lists'].map((name) => ({ name, since: '0.1.0' }))
  expect(requirementsOf({ indexes: [{ ...entry, state: 'building' }] })).toEqual(required)
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store requires expires for an index by which entities are deleted', () => {
  const index = defineIndex('a', { properties: { a: 'time' }, shardOn: 'id', expires: 'a' })
  const entry = { ...index, generation: 1, table: 'index_a' }
  expect(requirementsOf({ indexes: [{ ...entry, state: 'ready' }] })).toEqual([
    { name: 'expires', since: '0.1.0' },
  ])
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})

test('a store with a key function of the program opens only where the function is defined', () => {
  const properties = [{ name: 'a', type: 'string', many: false, key: 'understood@1' }] as const
  const entry = { ...nested, properties, generation: 1, table: 'index_a' }
  const withKey = { ...catalog, indexes: [{ ...entry, state: 'retiring' as const }] }
  expect(() => requireUnderstood('one', withKey)).toThrow(
    /Shard one: the store has an index by the key understood@1, which this process does not know.*defineKey/,
  )
  const dropped = { ...catalog, indexes: [{ ...entry, state: 'dropped' as const }] }
  expect(() => requireUnderstood('one', dropped)).not.toThrow()
  defineKey({ name: 'understood', version: 1, from: 'string', derive: (text: string) => text })
  expect(() => requireUnderstood('one', withKey)).not.toThrow()
})

test('a store that requires nothing, or known features, opens', () => {
  expect(() => requireUnderstood('one', catalog)).not.toThrow()
  expect(() => requireUnderstood('one', { ...catalog, format: 1, requires: all })).not.toThrow()
})

test('the error names the unknown features only', () => {
  const unknown = ['folding', 'moving'].map((name) => ({ name, since: '7.8.9' }))
  expect(() => requireUnderstood('one', { ...catalog, requires: [...all, ...unknown] })).toThrow(
    'Shard one: the store requires folding (in @looseleaf/store from 7.8.9 on), moving (in @looseleaf/store from 7.8.9 on), which',
  )
})

test('a store requires moves from its first move on, also while none is announced', () => {
  const layout = { revision: 0, shards: [] }
  expect(requirementsOf({ indexes: [], layout })).toBeUndefined()
  expect(requirementsOf({ indexes: [], layout: { ...layout, moves: [] } })).toEqual([
    { name: 'moves', since: '0.2.0' },
  ])
})

test.each([
  ['layout', '0.1.0', { layout: { revision: 1, shards: [] } }],
  ['definitions', '0.1.0', { definitions: true as const }],
  ['near-1', '0.2.0', { exactIndexes: true as const }],
])('a store requires %s, which processes have since %s', (name, since, contents) => {
  expect(requirementsOf({ indexes: [], ...contents })).toEqual([{ name, since }])
})

test('a store requires near-1 for an exact index', () => {
  const entry = { ...nested, properties: [], generation: 1, table: 'index_a', exact: 'on' as const }
  const required = [{ name: 'near-1', since: '0.2.0' }]
  expect(requirementsOf({ indexes: [{ ...entry, state: 'ready' }] })).toEqual(required)
  expect(requirementsOf({ indexes: [{ ...entry, state: 'dropped' }] })).toBeUndefined()
})
