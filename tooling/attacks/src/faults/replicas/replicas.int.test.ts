import { expect, test } from 'vitest'
import { runReplicas } from './run-replicas.ts'

test(
  'no read from replicas exceeds its bound while replicas lag, hang, die and are promoted',
  { timeout: 180_000 },
  async () => {
    const run = await runReplicas({ seed: 1, rounds: 1, roundMs: 3_000, processes: 2, replicas: 2 })
    expect(run.wrongs).toEqual([])
    expect(run.toReplicas).toBeGreaterThan(0)
  },
)
