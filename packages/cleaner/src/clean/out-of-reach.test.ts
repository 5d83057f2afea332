import type { Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { byTag, byUser, openStore, withDeleteDelay } from '../../test/stores.ts'
import { leapingTime } from '../../test/times.ts'
import { cleanIndex } from './clean-index.ts'

/** Long enough to be told from all other pauses. */
const DELAY_MS = 3_600_000

/** Cleans both indexes of a store with some entities, and tells how it waits for commits to be out of reach of a failover. */
async function waitsOf(
  deleteDelayMs: number,
  isFilled: boolean,
): Promise<{ waits: number; sentMeanwhile: number }> {
  const leaping = leapingTime()
  let waits = 0
  let sentMeanwhile = 0
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
    if (isWaiting) sentMeanwhile++
    return undefined
  })
  const store = await openStore({ driver, time, indexes: [byTag] })
  await store.putMany(
    Array.from({ length: 5 }, (_, i) => ({ user_id: `user ${i}`, published: i, tags: ['x'] })),
  )
  if (isFilled) await store.addIndex(byUser)
  // The index that is ready is the first of the two.
  await cleanIndex({ ...store, context: withDeleteDelay(store.context, deleteDelayMs) })
  return { waits, sentMeanwhile }
}

it.each([
  ['waits when one of them is filled and a failover can lose commits', DELAY_MS, true, 1],
  ['does not wait where none is filled', DELAY_MS, false, 0],
  ['does not wait where no commit is ever lost', 0, true, 0],
])('a cleaning of indexes %s', async (_, deleteDelayMs, isFilled, waits) => {
  expect(await waitsOf(deleteDelayMs, isFilled)).toEqual({ waits, sentMeanwhile: 0 })
})
