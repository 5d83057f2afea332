import { createThrottle } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { passOf, type CleanJob } from './clean-job.ts'

test('leases are renewed after each pause for calls, and not while the work goes on', async () => {
  const { context } = await openStore()
  const pauses: Promise<void>[] = []
  const throttle = { ...createThrottle(leapingTime(), undefined), rest: () => pauses.pop() }
  let renewals = 0
  const parts = {
    leases: [],
    removals: createKeptRemovals(context),
    checkpoint: async () => {},
    renew: async () => void renewals++,
    settle: async () => {},
    release: async () => {},
  }
  const lease: CleanJob['lease'] = {
    owner: 'one',
    leaseMs: 30_000,
    checkpointMs: 0,
    onRemoved: () => {},
    paceOf: () => ({ savedAt: 0, worker: '', rate: 0, throttledBy: undefined, waited: 0 }),
  }
  const job: Parameters<typeof passOf>[0] = { context, lease, options: {}, throttle }
  const pass = passOf(job, parts, undefined)
  expect(pass.throttle.rest(undefined)).toBeUndefined()
  expect(renewals).toBe(0)
  pauses.push(Promise.resolve())
  await pass.throttle.rest(undefined)
  expect(renewals).toBe(1)
})
