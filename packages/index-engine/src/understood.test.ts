import type { ShardCatalog } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { defineIndex } from './define-index.ts'
import { requirementsOf, requireUnderstood } from './understood.ts'

const catalog: ShardCatalog = {
  epoch: 1,
  storeId: 'store',
  shardNumber: 0,
  shardCount: 1,
  router: 'any',
  indexes: [],
}
const nested = defineIndex('nested', { properties: { c: 'string', 'a.b': 'string' }, shardOn: 'c' })
const indexes = (state: 'ready' | 'dropped'): ShardCatalog['indexes'] => [
  { ...nested, generation: 1, table: 'index_nested', state },
]
const all = requirementsOf({ indexes: indexes('ready'), deleteDelayMs: 5 }) ?? []

test('what a store has says what it requires', () => {
  expect(all.map(({ name }) => name)).toEqual(['delete-delay', 'paths'])
  expect(requirementsOf({ indexes: indexes('ready') })).toEqual([{ name: 'paths', since: '0.1.0' }])
  expect(requirementsOf({ indexes: [], deleteDelayMs: 1 })).toEqual([
    { name: 'delete-delay', since: '0.1.0' },
  ])
  expect(requirementsOf({ indexes: indexes('dropped'), deleteDelayMs: 0 })).toBeUndefined()
  expect(requirementsOf({ indexes: [] })).toBeUndefined()
})

test('a store that requires nothing, or what is known, is understood', () => {
  expect(() => requireUnderstood('one', catalog)).not.toThrow()
  expect(() => requireUnderstood('one', { ...catalog, format: 1, requires: all })).not.toThrow()
})

test('what is not known is named, and that alone', () => {
  const unknown = ['folding', 'moving'].map((name) => ({ name, since: '7.8.9' }))
  expect(() => requireUnderstood('one', { ...catalog, requires: [...all, ...unknown] })).toThrow(
    'Shard one: the store requires folding (in @looseleaf/store from 7.8.9 on), moving (in @looseleaf/store from 7.8.9 on), which',
  )
})
