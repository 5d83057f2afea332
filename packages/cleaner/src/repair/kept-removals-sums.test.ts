import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { parseId, type Time } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { entryOf, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import { createKeptRemovals, type KeptRemovals } from './kept-removals.ts'

// Lost rows are kept for 11 ms here.

let driver: ReferenceDriver
let leaping: LeapingTime
let log: string[]
let store: DataStore
let target: IndexTarget
let removals: KeptRemovals
let removed: number

beforeEach(async () => {
  leaping = leapingTime()
  log = []
  const time: Time = {
    now: leaping.now,
    sleep(milliseconds, signal) {
      log.push(`pause of ${milliseconds}`)
      return leaping.sleep(milliseconds, signal)
    },
  }
  driver = createReferenceDriver({ shards: 2 })
  store = await openStore({ driver, time })
  target = indexTarget(store.context, entryOf(store, 'by_user'))
  removed = 0
  removals = createKeptRemovals(store.context, (_, count) => void (removed += count))
})

/** Adds removals of rows whose entities have other rows in the index, or none if `isGone`. */
async function add(count: number, { shard = 0, isGone = false } = {}): Promise<void> {
  const rows = Array.from({ length: count }, (_, i): IndexRow => ({
    key: [Buffer.from('ada'), BigInt(i)],
    entityId: parseId(store.newId()),
    version: 1,
  }))
  await tableOn(target, shard).upsert(rows)
  for (const row of rows) {
    const others = isGone ? [] : [{ shard, key: row.key, identity: 'another' }]
    const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map([[target, others]]) }
    removals.add({ entity, target, shard, row, misplaced: false }, 2)
  }
}

/** Sends the due removals, and returns the number of rows deleted so far. */
async function due(): Promise<number> {
  await removals.sendDue(undefined)
  return removed
}

it('`settle` counts rows due at once and rows waited for, on all shards', async () => {
  await add(600, { isGone: true })
  await add(700)
  await add(3, { shard: 1 })
  await removals.settle(undefined)
  expect(removed).toBe(1_303)
  expect(log).toEqual(['pause of 11'])
  expect(removals.isEmpty).toBe(true)
  await removals.settle(undefined)
  expect(removed).toBe(1_303)
})

it('a delete of rows that are gone already is not counted', async () => {
  let calls = 0
  removals = createKeptRemovals(store.context, () => void calls++)
  await add(2, { isGone: true })
  const table = tableOn(target, 0)
  const rows = await table.scan({ prefix: [], order: 'asc', limit: 10 })
  await table.remove(rows.map((row) => ({ ...row, before: 2 })))
  await removals.settle(undefined)
  expect([calls, removals.isEmpty]).toEqual([0, true])
})

it('each row is deleted once, when it is due', async () => {
  await add(1)
  leaping.leap(5)
  await add(2)
  await add(4, { isGone: true })
  expect(await due()).toBe(4)
  leaping.leap(6)
  expect(await due()).toBe(5)
  expect(await due()).toBe(5)
  expect(removals.isEmpty).toBe(false)
  leaping.leap(5)
  expect(await due()).toBe(7)
  expect(removals.isEmpty).toBe(true)
})

it('`settle` calls `onWait` between its pauses', async () => {
  await add(1)
  const waiting = {
    everyMs: 4,
    async onWait() {
      await new Promise((resolve) => setImmediate(resolve))
      log.push('done')
    },
  }
  await removals.settle(undefined, waiting)
  expect(removed).toBe(1)
  expect(log).toEqual(['pause of 4', 'done', 'pause of 4', 'done', 'pause of 3'])
})

it('removals are full at 20,000 rows', async () => {
  await add(10_000, { isGone: true })
  await add(9_999)
  expect(removals.isFull).toBe(false)
  await add(1)
  expect(removals.isFull).toBe(true)
})
