import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'
import { runChanges } from './run-changes.ts'

test(
  'a consumer misses nothing while processes are killed and paused and statements are slow',
  { timeout: 120_000 },
  async () => {
    const { urls } = await freshShards(2)
    const run = await runChanges({
      urls,
      adminUrls: urls,
      seed: 1,
      rounds: 1,
      roundMs: 3_000,
      writers: 2,
      consumers: 1,
      processes: 2,
    })
    expect(run.wrongs).toEqual([])
    expect(run.handled).toBeGreaterThan(100)
  },
)
