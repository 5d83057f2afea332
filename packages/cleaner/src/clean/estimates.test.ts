import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { cleanIndex, type CleanOptions } from './clean-index.ts'
import { phases } from './part.ts'
import type { CleanProgress } from './progress.ts'

const RATE = 50

test.each([
  ['a repair', {}],
  ['a restart', { restart: true }],
] satisfies readonly (readonly [string, CleanOptions])[])(
  'the progress of %s at a rate has this rate and the time that is left, in all phases',
  async (_, options) => {
    const time = leapingTime()
    const store = await openStore({ shards: 1, time, indexes: [byTag, byUser] })
    const tags = Array.from({ length: 9 }, (__, i) => `tag ${i}`)
    await store.putMany(Array.from({ length: 200 }, (__, i) => ({ tags, user_id: 'ada', published: i })))
    const reports: (CleanProgress & { readonly at: number })[] = []
    await cleanIndex(store, undefined, {
      ...options,
      rowsPerSecond: RATE,
      onProgress: (progress) => void reports.push({ ...progress, at: time.slept }),
    })
    const end = time.slept
    const began = reports[0]!.at
    for (const phase of phases) {
      const some = reports.filter((report) => report.phase === phase && report.at < end)
      expect(some.length).toBeGreaterThan(0)
      for (const { at, rate, timeLeftMs = 0 } of some.filter(({ at: since }) => since - began > 30_000)) {
        expect(rate).toBeGreaterThan(0.6 * RATE)
        expect(rate).toBeLessThan(1.6 * RATE)
        expect(timeLeftMs).toBeGreaterThan(0.6 * (end - at) - 5_000)
        expect(timeLeftMs).toBeLessThan(1.5 * (end - at) + 5_000)
      }
    }
  },
)
