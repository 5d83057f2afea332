import { DataStore } from 'looseleaf'
import { percentile } from '../measure/statistics.ts'
import { noUsage, usagePerCall } from '../measure/usage.ts'
import { shardsOf } from '../sides/looseleaf-side.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** Differences of a few per cent need more rounds than ratios of two. */
const MORE_ROUNDS = 2
const LONGER = 3

/**
 * What following costs those who write: the store of one side is followed all the time, by this process, which makes no calls of the
 * load; and how long a change takes from its write to who follows, at a steady rate.
 */
export const following: Part = {
  what: 'writes while somebody follows the changes, and how soon they come',
  async run(bench) {
    const { rounds, seconds, rates } = bench.scale
    const sides = bench.sidesOn('mariadb').filter(({ name }) => name === 'looseleaf' || name === 'followed')
    if (sides.length < 2) return
    await bench.onStage({ sides }, async (stage, measure) => {
      const store = await DataStore.open({ shards: shardsOf('mariadb', stage.databasesOf('followed')) })
      const ended = new AbortController()
      const times: number[] = []
      const follow = async (): Promise<void> => {
        for await (const { updated } of store.changes({ signal: ended.signal }))
          times.push(Date.now() - updated.getTime())
      }
      const followed = follow().catch((error: unknown) => {
        if (!ended.signal.aborted) throw error
      })
      try {
        for (const scenario of usual(bench, ['insert', 'put', 'update']))
          await measure(scenario, { rounds: MORE_ROUNDS * rounds })
        const rate = Math.min(...rates)
        bench.progress(`changes of ${rate} writes a second`)
        times.length = 0
        const [before, cpu, start] = [await usage(), process.cpuUsage(), performance.now()]
        await stage.measure('followed', {
          scenario: 'put',
          callers: 64,
          processes: 1,
          seconds: seconds * LONGER,
          rate,
        })
        // Those of the last moment are among them, too.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        const { user, system } = process.cpuUsage(cpu)
        const sorted = times.toSorted((a, b) => a - b)
        if (sorted.length === 0) throw new Error('No change has come.')
        bench.addWork({
          scenario: 'delivery',
          side: 'followed',
          entities: sorted.length,
          seconds: (performance.now() - start) / 1000,
          clientCpuUs: (user + system) / sorted.length,
          server: usagePerCall(before, await usage(), sorted.length),
          rate,
          p50Ms: percentile(sorted, 0.5),
          p99Ms: percentile(sorted, 0.99),
          maxMs: sorted.at(-1) as number,
        })
        async function usage(): Promise<typeof noUsage> {
          return (await stage.meterOf('followed')?.read()) ?? noUsage
        }
      } finally {
        ended.abort()
        await followed
        await store.close()
      }
    })
  },
}
