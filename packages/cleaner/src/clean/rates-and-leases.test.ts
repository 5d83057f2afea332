import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { addRow, byTag, byUser, expectedRows, openStore, rowFor, rowsIn } from '../../test/stores.ts'
import { cleanIndex } from './clean-index.ts'

const LEASE_MS = 3_000

test('a clean renews its leases while a rate delays a page of entities with many rows', async () => {
  const time = leapingTime()
  const memory: Driver = await memoryShards(1).connect()
  onTestFinished(() => memory.close())
  let savedAt = 0
  let longest = 0
  const driver = faultyDriver(memory, ({ table, operation }) => {
    if (table !== 'tasks' || (operation !== 'saveAll' && operation !== 'claimAll')) return undefined
    longest = Math.max(longest, time.slept - savedAt)
    savedAt = time.slept
    return undefined
  })
  const store = await openStore({ driver, time, indexes: [byTag] })
  const tags = Array.from({ length: 20 }, (_, i) => `tag ${i}`)
  await store.putMany(Array.from({ length: 10 }, () => ({ tags })))
  savedAt = time.slept
  longest = 0
  await cleanIndex(store, 'by_tag', { check: false, rowsPerSecond: 10, leaseMs: LEASE_MS })
  // The clean reads 10 entities, and twice their 200 rows.
  expect(time.slept).toBeGreaterThanOrEqual(41_000)
  expect(longest).toBeLessThan(LEASE_MS)
})

test('a clean without a lease ends although dangling rows have to wait', async () => {
  const time = leapingTime()
  const store = await openStore({ time, indexes: [byUser] })
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'bob', published: 1 }, version - 1))
  await cleanIndex(store, 'by_user', { leaseMs: 0 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a clean at a rate looks for pauses and saves its progress about every second, however many rows an entity has', async () => {
  const time = leapingTime()
  const store = await openStore({ shards: 1, time, indexes: [byTag] })
  const tags = Array.from({ length: 19 }, (_, i) => `tag ${i}`)
  await store.putMany(Array.from({ length: 100 }, () => ({ tags })))
  const pages: number[] = []
  await cleanIndex(store, 'by_tag', {
    rowsPerSecond: 100,
    onProgress: ({ phase }) => {
      if (phase === 'check') pages.push(time.slept)
    },
  })
  // Pages of five entities and their 95 rows. The first page is larger, because the rows per entity are unknown.
  const later = pages.slice(1)
  const gaps = later.slice(1).map((at, i) => at - later[i]!)
  expect(gaps.length).toBeGreaterThanOrEqual(8)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000)
})
