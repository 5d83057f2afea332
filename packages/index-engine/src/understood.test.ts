import type { ShardCatalog } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { DELETE_DELAY, requireUnderstood } from './understood.ts'

const catalog: ShardCatalog = {
  epoch: 1,
  storeId: 'store',
  shardNumber: 0,
  shardCount: 1,
  router: 'any',
  indexes: [],
}

test('a store that requires nothing, or what is known, is understood', () => {
  expect(() => requireUnderstood('one', catalog)).not.toThrow()
  expect(() => requireUnderstood('one', { ...catalog, format: 1, requires: [DELETE_DELAY] })).not.toThrow()
})

test('what is not known is named, and that alone', () => {
  const unknown = ['folding', 'moving'].map((name) => ({ name, since: '7.8.9' }))
  expect(() => requireUnderstood('one', { ...catalog, requires: [DELETE_DELAY, ...unknown] })).toThrow(
    'Shard one: the store requires folding (in @looseleaf/store from 7.8.9 on), moving (in @looseleaf/store from 7.8.9 on), which',
  )
})
