import { parseId } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, shardsOfRow } from '@looseleaf/index-engine/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { entryOf, openStore } from '../../test/stores.ts'
import { indexTarget, tableOn } from '../pass/index-target.ts'
import { createKeptRemovals } from './kept-removals.ts'

test.each([
  ['is deleted', false],
  ['stays if the buckets of that shard have changed since it was judged', true],
])('a row on a wrong shard %s', async (_, hasChanged) => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, time: leapingTime() })
  const { context } = store
  const target = indexTarget(context, entryOf(store, 'by_user'))
  const row: IndexRow = { key: [Buffer.from('ada'), 1n], entityId: parseId(store.newId()), version: 1 }
  const { placement } = context.catalog.current()
  const shard = 1 - shardsOfRow(target.entry, placement, row.key, row.entityId)[0]!
  await tableOn(target, shard).upsert([row])
  let removed = 0
  const removals = createKeptRemovals(context, (_, count) => void (removed += count))
  const expected = new Map([[target, [{ shard: 1 - shard, key: row.key, identity: 'right' }]]])
  const entity = { id: row.entityId, version: 2, updated: 0, expected }
  removals.add({ entity, target, shard, row, misplaced: true }, 2)
  if (hasChanged) {
    const wrong = driver.shards[shard]!
    const own = (await wrong.catalog.load())!
    expect(await changeServes(wrong, own, { owns: own.layout!.shards[shard]!.buckets! })).toBeDefined()
  }
  await removals.settle(undefined)
  expect(removed).toBe(hasChanged ? 0 : 1)
  expect(await tableOn(target, shard).count({ prefix: [] })).toBe(hasChanged ? 1 : 0)
  expect(removals.isEmpty).toBe(true)
})

test('a row that by now is on its right shard is not deleted', async () => {
  const { context } = await openStore({ time: leapingTime() })
  const [entry] = context.catalog.current().indexes
  const target = indexTarget(context, entry!)
  const row: IndexRow = { key: [Buffer.from('ada'), 1n], entityId: Buffer.alloc(16, 7), version: 1 }
  const [shard] = shardsOfRow(target.entry, context.catalog.current().placement, row.key, row.entityId)
  const removals = createKeptRemovals(context)
  const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map() }
  removals.add({ entity, target, shard: shard!, row, misplaced: true }, 2)
  expect(removals.isEmpty).toBe(true)
})

test('a row that its entity does not have is deleted also if the buckets of its shard have changed', async () => {
  const driver = await memoryShards(2).connect()
  const { context } = await openStore({ driver, time: leapingTime() })
  const [entry] = context.catalog.current().indexes
  const target = indexTarget(context, entry!)
  const row: IndexRow = { key: [Buffer.from('ada'), 1n], entityId: Buffer.alloc(16, 7), version: 1 }
  await tableOn(target, 0).upsert([row])
  const removals = createKeptRemovals(context)
  const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map() }
  removals.add({ entity, target, shard: 0, row, misplaced: false }, 2)
  const own = (await driver.shards[0]!.catalog.load())!
  expect(await changeServes(driver.shards[0]!, own, { owns: '0-2047' })).toBeDefined()
  await removals.settle(undefined)
  expect(await tableOn(target, 0).count({ prefix: [] })).toBe(0)
})
