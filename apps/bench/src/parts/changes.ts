import { DataStore } from 'looseleaf'
import { percentile } from '../measure/statistics.ts'
import { noUsage, usagePerCall } from '../measure/usage.ts'
import { shardsOf } from '../sides/looseleaf-side.ts'
import type { SideName } from '../sides/side-names.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

const names: readonly SideName[] = ['looseleaf', 'raised', 'followed']
/** Multiple of the usual rounds, because the differences here are a few per cent. */
const TIMES_MORE_ROUNDS = 2
const TIMES_LONGER = 3
const RAISES_TIMES_LONGER = 30

const RAISE_EVERY_MS = 250

/**
 * Measures the cost of followers for writers, in three steps:
 *
 * 1. Writes on three sides: an unfollowed store, a store whose floors this process raises four times a second, and a store whose changes
 *    this process follows. The follower shares the machine, so it takes CPU that would be another machine's in production.
 * 2. The time of a raise under puts. A raise waits for open commits, and later commits wait for the raise.
 * 3. The time from a write to the follower, at a steady rate.
 */
export const following: Part = {
  description: 'writes while a follower reads the changes, and how soon the changes arrive',
  async run(bench) {
    const { rounds, seconds, rates } = bench.scale
    const sides = bench.sidesOn('mariadb').filter(({ name }) => names.includes(name))
    if (sides.length < names.length) return
    await bench.onStage({ sides }, async (stage, measure) => {
      const [raised, store] = (await Promise.all(
        (['raised', 'followed'] as const).map((side) =>
          DataStore.open({ shards: shardsOf('mariadb', stage.databasesOf(side)) }),
        ),
      )) as [DataStore, DataStore]
      const abort = new AbortController()
      const times: number[] = []
      const raises: number[] = []
      const follow = async (): Promise<void> => {
        for await (const { updated } of store.changes({ signal: abort.signal }))
          times.push(Date.now() - updated.getTime())
      }
      const raise = setInterval(() => {
        for (const { entities } of raised.context.driver.shards) {
          const sent = performance.now()
          const noteTime = (): unknown => raises.push(performance.now() - sent)
          entities.raiseFloor().then(noteTime, () => {})
        }
      }, RAISE_EVERY_MS)
      const followed = follow()
      try {
        for (const scenario of usual(bench, ['insert', 'put', 'update']))
          await measure(scenario, { rounds: TIMES_MORE_ROUNDS * rounds })
        await addRaises()
        const rate = Math.min(...rates)
        bench.progress(`changes of ${rate} writes a second`)
        times.length = 0
        const [before, cpu, start] = [await usage(), process.cpuUsage(), performance.now()]
        await stage.measure('followed', {
          scenario: 'put',
          callers: 64,
          processes: 1,
          seconds: seconds * TIMES_LONGER,
          rate,
        })
        // Changes of the last writes arrive within this second.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        const { user, system } = process.cpuUsage(cpu)
        const sorted = times.toSorted((a, b) => a - b)
        if (sorted.length === 0) throw new Error('The follower received no change.')
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
        /** Measures raises beside puts: of all writes, puts commit slowest. */
        async function addRaises(): Promise<void> {
          bench.progress('raises while 64 callers put')
          // Only four raises a second happen, so this run is longer. Raises outside the load do not count: no commit delays them.
          const load = { scenario: 'put', callers: 64, seconds: seconds * RAISES_TIMES_LONGER } as const
          const client = stage.clientOf('raised')
          await client.run({ kind: 'run', side: 'raised', ...load, seconds: seconds })
          raises.length = 0
          const begin = performance.now()
          await client.run({ kind: 'run', side: 'raised', ...load })
          const took = performance.now() - begin
          const ordered = raises.toSorted((a, b) => a - b)
          await client.do({ kind: 'settle', side: 'raised' })
          if (ordered.length === 0) return
          const inFlightMs = ordered.reduce((sum, ms) => sum + ms, 0) / raised.context.driver.shards.length
          bench.addWork({
            scenario: 'raise',
            side: 'raised',
            entities: ordered.length,
            seconds: took / 1000,
            clientCpuUs: 0,
            server: noUsage,
            p50Ms: percentile(ordered, 0.5),
            p99Ms: percentile(ordered, 0.99),
            maxMs: ordered.at(-1) as number,
            share: inFlightMs / took,
          })
        }
        async function usage(): Promise<typeof noUsage> {
          return (await stage.meterOf('followed')?.read()) ?? noUsage
        }
      } finally {
        clearInterval(raise)
        abort.abort()
        await followed
        await Promise.all([raised.close(), store.close()])
      }
    })
  },
}
