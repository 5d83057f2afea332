import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { startCluster } from '../lab/cluster.ts'
import { runGrowth } from './run-growth.ts'

test.runIf(isLong).each([
  ['without a fault', false],
  ['while processes and servers are killed and stopped', true],
])(
  'a store grows and shrinks %s, and every answer, change and row is right',
  async (_, kills) => {
    const cluster = await startCluster({ shards: 4 })
    try {
      const run = await runGrowth({
        cluster,
        kills,
        sizes: [2, 4, 2],
        seed: 1,
        entities: 1_000,
        seconds: 0,
        baselineSeconds: 5,
        writers: 8,
        readers: 2,
        consumers: 2,
        clients: 1,
        restMs: 50,
        movers: 2,
        speed: 1,
      })
      expect(run.wrongs).toEqual([])
      expect(run.moves.done).toBeGreaterThan(3)
      expect(run.verdict.writes).toBeGreaterThan(1_500)
      expect(run.verdict.expected).toBeGreaterThan(100)
    } finally {
      await cluster.stop()
    }
  },
  1_800_000,
)
