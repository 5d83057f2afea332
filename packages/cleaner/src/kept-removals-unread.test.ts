import { LooseleafError, parseId, type IndexRow } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { entryOf, openStore } from '../test/stores.ts'
import { leapingTime } from '../test/times.ts'
import { indexTarget, tableOn } from './index-target.ts'
import { createKeptRemovals } from './kept-removals.ts'

it('rows whose entities cannot be read are due again, in their order', async () => {
  let isAway = false
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation }) =>
    isAway && operation === 'readBounded'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined,
  )
  const time = leapingTime()
  const store = await openStore({ driver, time })
  const target = indexTarget(store.context, entryOf(store, 'by_user'))
  const removals = createKeptRemovals(store.context)
  const add = async (count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, i): IndexRow => ({
      key: [Buffer.from('ada'), BigInt(i)],
      entityId: parseId(store.newId()),
      version: 1,
    }))
    await tableOn(target, 0).upsert(rows)
    for (const row of rows) {
      const left = [{ shard: 0, key: row.key, identity: 'another' }]
      const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map([[target, left]]) }
      removals.add({ entity, target, shard: 0, row, misplaced: false }, 2)
    }
  }
  // Rows are kept for 11 ms here.
  await add(1)
  time.leap(5)
  await add(2)
  time.leap(6)
  isAway = true
  await expect(removals.sendDue(undefined)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  isAway = false
  expect((await removals.sendDue(undefined)).get(target)).toBe(1)
  expect(removals.isEmpty).toBe(false)
  time.leap(5)
  expect((await removals.sendDue(undefined)).get(target)).toBe(2)
})
