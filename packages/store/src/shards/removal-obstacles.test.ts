import type { CatalogEntry, StoreLayout } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { layoutObstacles, ownObstacles } from './removal-obstacles.ts'

const layoutOf = (shards: StoreLayout['shards'], moves?: StoreLayout['moves']): StoreLayout => ({
  revision: 1,
  scheme: 'buckets',
  shards,
  moves,
})
const EMPTY = { name: 'a', buckets: '' }
const SHARDS = [EMPTY, { ...EMPTY, name: 'b' }, { ...EMPTY, name: 'c' }]

/** An index in this state. */
const entryOf = (state: CatalogEntry['state']): CatalogEntry => ({ name: 'by_user', state }) as CatalogEntry

test('an empty shard has no obstacle in the catalog', () => {
  for (const number of [0, 1, 2])
    expect(layoutObstacles(layoutOf(SHARDS), [entryOf('ready')], number)).toEqual([])
})

test('the buckets of a shard are counted', () => {
  const shards = [EMPTY, { ...EMPTY, buckets: '7' }, { ...EMPTY, buckets: '0-6,8' }]
  expect(layoutObstacles(layoutOf(shards), [], 0)).toEqual([])
  expect(layoutObstacles(layoutOf(shards), [], 1)).toEqual([
    'it has 1 bucket: move it to other shards first (call shards.drain(1))',
  ])
  expect(layoutObstacles(layoutOf(shards), [], 2)).toEqual([
    'it has 8 buckets: move them to other shards first (call shards.drain(2))',
  ])
})

test('moves from and to a shard are named, and others are not', () => {
  const layout = layoutOf(SHARDS, [
    { id: 4, from: 0, to: 1, buckets: '1', phase: 'both' },
    { id: 5, from: 1, to: 2, buckets: '2', phase: 'target' },
  ])
  expect(layoutObstacles(layout, [], 0)).toEqual(['move 4 is not over'])
  expect(layoutObstacles(layout, [], 1)).toEqual(['move 4 is not over', 'move 5 is not over'])
  expect(layoutObstacles(layout, [], 2)).toEqual(['move 5 is not over'])
})

test('the only shard that was not removed stays', () => {
  const removed = { ...EMPTY, state: 'removed' } as const
  expect(layoutObstacles(layoutOf([removed, EMPTY, removed]), [], 1)).toEqual([
    'it is the only shard of the store',
  ])
})

test('the first shard that was not removed stays while an index is being filled', () => {
  const layout = layoutOf([{ ...EMPTY, state: 'removed' }, ...SHARDS])
  const text = 'index by_user is being filled, and the records of that are on this shard'
  expect(layoutObstacles(layout, [entryOf('ready'), entryOf('building')], 1)).toEqual([text])
  expect(layoutObstacles(layout, [entryOf('building')], 2)).toEqual([])
  expect(layoutObstacles(layout, [entryOf('retiring')], 1)).toEqual([])
})

test('buckets that a shard serves, and those in moves, are named by its own catalog', () => {
  const away = { attempt: 1, buckets: '1', to: 0, end: 1 }
  expect(ownObstacles({ owns: '' }, '')).toEqual([])
  expect(
    ownObstacles(
      {
        owns: '0-9',
        leaving: [{ move: 1, attempt: 1, buckets: '0', to: 1 }],
        coming: [{ move: 2, attempt: 1, buckets: '10', from: 1, afterAddedId: 0 }],
        away: [
          { ...away, move: 3 },
          { ...away, move: 3, buckets: '2' },
          { ...away, move: 4, emptied: 7 },
        ],
      },
      '',
    ),
  ).toEqual([
    'it serves 10 buckets',
    'buckets are leaving it',
    'copies of an undone move are still to be deleted',
    'its entities of move 3 are not deleted yet',
  ])
})

test('buckets that a shard serves are named once if the layout gives it the same number', () => {
  expect(ownObstacles({ owns: '0-9' }, '0-9')).toEqual([])
  expect(ownObstacles({ owns: '0-9' }, '0-8')).toEqual(['it serves 10 buckets'])
})

test('a shard that serves no bucket has no obstacle, whatever the layout gives it', () => {
  expect(ownObstacles({ owns: '' }, '0-9')).toEqual([])
})
