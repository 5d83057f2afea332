import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { DataStore, defineIndex } from '../../src/index.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })
const byKind = defineIndex('by_kind', { properties: { kind: 'string' }, shardOn: 'id' })
/** Their rows by user are in a bucket that moves. */
const ada = { user: 'ada', kind: 'person' }
const ENTITIES = 40

test('a count is exact at every call of a move of buckets, and a scattered number of rows includes copies', async () => {
  const driver = await memoryShards(2).connect()
  const open = { indexes: [byUser, byKind], time: leapingTime() }
  const counts = { exact: new Set<number>(), rowsOfUser: new Set<number>(), scattered: new Set<number>() }
  let isMoving = false
  let isCounting = false
  const count = async (): Promise<void> => {
    if (!isMoving || isCounting) return
    isCounting = true
    const scatter = true
    counts.exact.add(await reader.count(byUser, { user: 'ada' }))
    counts.exact.add(await reader.count(byKind, { kind: 'person' }, { scatter }))
    counts.rowsOfUser.add(await reader.count(byUser, { user: 'ada' }, { exact: false }))
    counts.scattered.add(await reader.count(byKind, { kind: 'person' }, { scatter, exact: false }))
    isCounting = false
  }
  const counted = faultyDriver(driver, () => ({ before: count }))
  const mover = await DataStore.open({ ...open, shards: keepOpen(counted), migrate: true, queryTimeMs: 500 })
  await mover.putMany(Array.from({ length: ENTITIES }, () => ada))
  const reader = await DataStore.open({ ...open, shards: keepOpen(driver) })
  isMoving = true
  const { counts: moved } = await moveBuckets(mover, { from: 1, to: 0, buckets: '2048-4095' })
  isMoving = false
  expect(counts.exact).toEqual(new Set([ENTITIES]))
  expect(counts.rowsOfUser).toEqual(new Set([ENTITIES]))
  expect(counts.scattered).toContain(ENTITIES)
  expect(Math.max(...counts.scattered)).toBe(ENTITIES + moved.entities)
  await Promise.all([reader.close(), mover.close()])
  await driver.close()
})
