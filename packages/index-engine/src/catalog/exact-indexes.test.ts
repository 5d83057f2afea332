import type { IndexDefinitionData } from '@looseleaf/core'
import type { CatalogEntry, ExactStep, ShardCatalog } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import type { Catalog } from './catalog.ts'
import { exactStepsOf, hasNearRows, isProtected, protectedTablesOf } from './exact-indexes.ts'

const entry = (table: string, exact?: ExactStep, state = 'ready'): CatalogEntry =>
  ({ table, exact, state }) as CatalogEntry

test.each<[boolean, object]>([
  [true, { shardOn: 'id' }],
  [true, { shardOn: 'owner', near: true }],
  [false, { shardOn: 'owner' }],
  [false, { shardOn: 'owner', near: false }],
  [false, { shardOn: 'id', unique: true }],
  [false, { shardOn: 'owner', near: true, unique: true }],
])('an index has near rows (%s) by its definition %j', (expected, definition) => {
  expect(hasNearRows(definition as IndexDefinitionData)).toBe(expected)
})

test('readers protect themselves from the tables of indexes that are protected or exact', () => {
  expect((['counted', 'protected', 'on', undefined] as const).map((exact) => isProtected({ exact }))).toEqual(
    [false, true, true, false],
  )
  const indexes = [entry('a', 'counted'), entry('b', 'protected'), entry('c', 'on'), entry('d')]
  const catalog = { indexes } as unknown as Catalog
  expect(protectedTablesOf(catalog)).toEqual(new Set(['b', 'c']))
  expect(protectedTablesOf(catalog)).toBe(protectedTablesOf(catalog))
})

test('the steps of exact indexes leave out indexes without one, and those that were dropped', () => {
  const indexes = [entry('a', 'counted'), entry('b', 'on'), entry('c'), entry('d', 'on', 'dropped')]
  const catalog = { indexes } as unknown as ShardCatalog
  expect(exactStepsOf(catalog)).toEqual(
    new Map([
      ['a', 'counted'],
      ['b', 'on'],
    ]),
  )
  expect(exactStepsOf(catalog)).toBe(exactStepsOf(catalog))
})
