import type { Time } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { cleanIndex, deleteExpired, readCleanerReport } from '../src/index.ts'
import { openStore } from './stores.ts'

const expiring = defineIndex('expiring', {
  properties: { until: 'time' },
  shardOn: 'id',
  expires: 'until',
})

test('a clock with fractions of milliseconds deletes expired entities, and leaves a record of a clean', async () => {
  const leaping = leapingTime()
  const time: Time = { ...leaping, now: () => Math.floor(leaping.now()) + 0.123_45 }
  const store = await openStore({ indexes: [expiring], time })
  await store.put({ until: new Date(0) })
  expect(await deleteExpired(store)).toBe(1)
  await cleanIndex(store)
  const [index] = (await readCleanerReport(store)).indexes
  expect(index?.lastRun).toMatchObject({ tally: { removed: 1 } })
  await store.close()
})
