import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { startCluster } from '../lab/cluster.ts'
import { runKills } from './run-kills.ts'

test.runIf(isLong)(
  'moves are repaired, and nothing is lost, after their movers were killed right after a hand-over',
  async () => {
    const cluster = await startCluster({ shards: 2 })
    try {
      const run = await runKills({ cluster, times: 5, seed: 1 })
      expect(run).toMatchObject({ movers: 5, wrongs: [] })
      expect(run.acknowledged).toBeGreaterThan(0)
    } finally {
      await cluster.stop()
    }
  },
  600_000,
)
