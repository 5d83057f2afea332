import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { steppedTime, type SteppedTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createRowRemovals, type RowRemovals } from './row-removals.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let time: SteppedTime
let store: DataStore
let removals: RowRemovals
/** Versions of the writes whose rows were deleted, or tried to be. */
let removed: number[]
let warnings: string[]
/** Number of deletes that the database undoes. */
let undone: number

beforeEach(async () => {
  time = steppedTime()
  store = await DataStore.open({ shards: memoryShards(1), indexes: [byName], migrate: true, time })
  removed = []
  undone = 0
  const remove = async (_rows: unknown, _entityId: unknown, version: number): Promise<void> => {
    removed.push(version)
    if (undone-- > 0)
      throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
  }
  warnings = []
  removals = createRowRemovals(store.context, { remove }, (message) => warnings.push(message))
})
afterEach(async () => {
  await removals.close()
  await store.close()
})

/** Loses a row by a write of this version. */
function lose(version: number): void {
  const { epochs, indexes } = store.context.catalog.current()
  const commit = { entityId: Buffer.alloc(16), version, shard: 0, epoch: epochs[0]! }
  removals.later([{ entry: indexes[0]!, key: [1n] }], commit)
}

test('the lost rows of two writes are deleted each in their own time', async () => {
  lose(1)
  await time.step(3_000)
  lose(2)
  await time.step(2_600)
  expect(removed).toEqual([1])
  await time.step(3_000)
  expect(removed).toEqual([1, 2])
})

test('a delete that the database undoes again and again is left to the cleaner after five tries', async () => {
  undone = 9
  lose(1)
  await time.step(5_600)
  for (let i = 0; i < 9; i++) await time.step(100)
  expect(removed).toEqual([1, 1, 1, 1, 1])
  expect(warnings).toEqual([expect.stringContaining('left to the cleaner')])
})

test('a delete that a deadlock has undone is made again after a pause', async () => {
  undone = 1
  lose(1)
  await time.step(5_600)
  expect(removed).toEqual([1])
  await time.step(100)
  expect(removed).toEqual([1, 1])
})
