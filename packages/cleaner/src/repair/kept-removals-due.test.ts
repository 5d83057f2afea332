import { LooseleafError, parseId } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, expect, it } from 'vitest'
import { entryOf, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import { createKeptRemovals, type KeptRemovals } from './kept-removals.ts'

// Lost rows are kept for 11 ms here.

/** Operation that the shard rejects. */
let down: string | undefined
let time: LeapingTime
let store: DataStore
let byUser: IndexTarget
let byTag: IndexTarget
let removals: KeptRemovals
let removed: Map<IndexTarget, number>

beforeEach(async () => {
  down = undefined
  removed = new Map()
  time = leapingTime()
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation }) =>
    operation === down
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined,
  )
  store = await openStore({ driver, time })
  byUser = indexTarget(store.context, entryOf(store, 'by_user'))
  byTag = indexTarget(store.context, entryOf(store, 'by_tag'))
  removals = createKeptRemovals(
    store.context,
    (target, count) => void removed.set(target, (removed.get(target) ?? 0) + count),
  )
})

/** Adds removals of rows whose entities have other rows in the index, or none if `isGone`. */
async function add(count: number, { target = byUser, isGone = false } = {}): Promise<void> {
  const rows = Array.from({ length: count }, (_, i): IndexRow => ({
    key: target === byUser ? [Buffer.from('ada'), BigInt(i)] : [Buffer.from('x')],
    entityId: parseId(store.newId()),
    version: 1,
  }))
  await tableOn(target, 0).upsert(rows)
  for (const row of rows) {
    const others = isGone ? [] : [{ shard: 0, key: row.key, identity: 'another' }]
    const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map([[target, others]]) }
    removals.add({ entity, target, shard: 0, row, misplaced: false }, 2)
  }
}

it('removals whose entities cannot be read stay due, in order', async () => {
  await add(1)
  time.leap(5)
  await add(2)
  time.leap(6)
  down = 'readBounded'
  await expect(removals.sendDue(undefined)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  down = undefined
  await removals.sendDue(undefined)
  expect(removed.get(byUser)).toBe(1)
  expect(removals.isEmpty).toBe(false)
  time.leap(5)
  await removals.sendDue(undefined)
  expect(removed.get(byUser)).toBe(3)
})

it('`settle` waits for the last removal', async () => {
  await add(1)
  time.leap(5)
  await add(2)
  const before = time.slept
  await removals.settle(undefined)
  expect(removed.get(byUser)).toBe(3)
  expect(time.slept - before).toBe(11)
})

it('rows deleted at once and rows waited for are counted by index', async () => {
  await add(2, { isGone: true })
  await add(3, { target: byTag })
  await removals.settle(undefined)
  expect([removed.get(byUser), removed.get(byTag)]).toEqual([2, 3])
})

it('deleted rows are counted although the read after their delete fails', async () => {
  await add(2, { isGone: true })
  down = 'readBounded'
  await expect(removals.sendDue(undefined)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(removed.get(byUser)).toBe(2)
  down = undefined
  await removals.sendDue(undefined)
  expect([removed.get(byUser), removals.isEmpty]).toEqual([2, true])
})
