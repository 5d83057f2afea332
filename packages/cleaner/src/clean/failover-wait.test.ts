import type { Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { byTag, byUser, openStore, withDeleteDelay } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { cleanIndex } from './clean-index.ts'

/** Unlike any other pause. */
const DELAY_MS = 3_600_000

/** Cleans both indexes of a store, and counts its waits for failovers and the statements sent during them. */
async function waitsOf(
  deleteDelayMs: number,
  isFilled: boolean,
): Promise<{ waits: number; sentDuringWaits: number }> {
  const leaping = leapingTime()
  let waits = 0
  let sentDuringWaits = 0
  let isWaiting = false
  const time: Time = {
    now: leaping.now,
    async sleep(milliseconds, signal) {
      if (milliseconds !== DELAY_MS) return leaping.sleep(milliseconds, signal)
      waits++
      isWaiting = true
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      isWaiting = false
    },
  }
  const driver = faultyDriver(await memoryShards(2).connect(), () => {
    if (isWaiting) sentDuringWaits++
    return undefined
  })
  const store = await openStore({ driver, time, indexes: [byTag] })
  await store.putMany(
    Array.from({ length: 5 }, (_, i) => ({ user_id: `user ${i}`, published: i, tags: ['x'] })),
  )
  if (isFilled) await store.addIndex(byUser)
  // The ready index is the first of the two.
  await cleanIndex({ ...store, context: withDeleteDelay(store.context, deleteDelayMs) })
  return { waits, sentDuringWaits }
}

it.each([
  ['waits if one of them is filled and a failover can lose commits', DELAY_MS, true, 1],
  ['does not wait if none is filled', DELAY_MS, false, 0],
  ['does not wait if failovers lose no commits', 0, true, 0],
])('a cleaning of indexes %s', async (_, deleteDelayMs, isFilled, waits) => {
  expect(await waitsOf(deleteDelayMs, isFilled)).toEqual({ waits, sentDuringWaits: 0 })
})
