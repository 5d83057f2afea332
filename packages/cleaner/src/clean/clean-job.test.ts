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
  const job: Pick<CleanJob, 'context' | 'options' | 'throttle'> = { context, options: {}, throttle }
  const pass = passOf(job, parts, undefined)
  expect(pass.throttle.rest(undefined)).toBeUndefined()
  expect(renewals).toBe(0)
  pauses.push(Promise.resolve())
  await pass.throttle.rest(undefined)
  expect(renewals).toBe(1)
})
