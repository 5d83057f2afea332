import { cleanIndex, DataStore, defineIndex } from 'looseleaf'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import type { Run } from '../client/run-callers.ts'
import { percentile } from '../measure/statistics.ts'
import { noUsage, usagePerCall } from '../measure/usage.ts'
import type { Series } from '../report/results.ts'
import { round } from '../report/results.ts'
import { shardsOf } from '../sides/looseleaf-side.ts'
import type { SideName } from '../sides/side-names.ts'
import type { Stage } from '../stage.ts'
import { indexesOf } from '../workload/indexes.ts'
import type { Part } from './part.ts'

/** Seconds of load alone, once before the build and once after it. */
const ALONE = { tiny: 0.3, quick: 2, full: 10 } as const
const DAY_SECONDS = 86_400

const entriesByTitle = defineIndex('entries_by_title', {
  properties: { title: 'string' },
  shardOn: 'title',
})

/** Adds an index over titles to a Looseleaf store and fills it, in this process. Throws unless the index becomes ready. */
export async function buildIndex(databases: readonly string[]): Promise<void> {
  const indexes = indexesOf('entries').map(({ definition }) => definition)
  const store = await DataStore.open({ shards: shardsOf('mariadb', databases), indexes })
  try {
    await store.addIndex(entriesByTitle)
    await cleanIndex(store, [entriesByTitle.name])
    const state = (await store.indexes()).find(({ name }) => name === entriesByTitle.name)?.state
    if (state !== 'ready') throw new Error(`The index was built and is ${state}.`)
  } finally {
    await store.close()
  }
}

/** Adds an index over titles, by side. The functions run in this process, while the load comes from a client process. */
const builders: Partial<Record<SideName, (databases: readonly string[]) => Promise<void>>> = {
  looseleaf: buildIndex,
  // Alters all shards in parallel.
  async json(databases) {
    await Promise.all(
      databases.map(async (uri) => {
        const connection = await createConnection({ uri })
        await connection.query(
          "ALTER TABLE entries ADD COLUMN title_key VARCHAR(200) AS (JSON_VALUE(doc, '$.title')) VIRTUAL",
        )
        await connection.query('ALTER TABLE entries ADD INDEX by_title (title_key)')
        await connection.end()
      }),
    )
  },
}

export const building: Part = {
  description: 'an index is built while calls come at a steady rate',
  async run(bench) {
    const { build: entries, rates, name: scale } = bench.scale
    const sides = bench.sidesOn('mariadb').filter(({ name }) => builders[name] !== undefined)
    const rate = Math.min(...rates) / 2
    await bench.onStage({ sides, entries }, async (stage) => {
      for (const { name, title } of sides) {
        bench.progress(`${title}: an index over ${entries} entries, ${rate} calls a second`)
        const { run, from, to, work } = await underLoad(stage, name, rate, ALONE[scale])
        const during = timesBetween(run, from, to)
        bench.addWork({ scenario: 'index build', side: name, entities: entries, rate, ...work, ...during })
        bench.addSeries(seriesOf(run, from, to, name))
      }
    })
  },
}

interface UnderLoad {
  readonly run: Run
  /** Begin and end of the work in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly work: {
    readonly seconds: number
    readonly clientCpuUs: number
    readonly server: ReturnType<typeof usagePerCall>
  }
}

async function underLoad(stage: Stage, side: SideName, rate: number, alone: number): Promise<UnderLoad> {
  const running = stage.clientOf(side).run({
    kind: 'run',
    side,
    scenario: 'mixed',
    callers: 1,
    seconds: DAY_SECONDS,
    rate,
  })
  // A failure of the load is thrown by `await running`; without a handler, Node would end the process before that.
  running.catch(() => undefined)
  await sleep(alone * 1000)
  const meter = stage.meterOf(side)
  const before = (await meter?.read()) ?? noUsage
  const [cpu, from] = [process.cpuUsage(), Date.now()]
  await builders[side]?.(stage.databasesOf(side))
  const to = Date.now()
  const { user, system } = process.cpuUsage(cpu)
  const after = (await meter?.read()) ?? noUsage
  await sleep(alone * 1000)
  await stage.clientOf(side).do({ kind: 'stop' })
  const run = await running
  return {
    run,
    from,
    to,
    work: {
      seconds: (to - from) / 1000,
      // CPU of the building process alone. The servers' CPU includes the load.
      clientCpuUs: (user + system) / stage.data.entries,
      server: usagePerCall(before, after, stage.data.entries),
    },
  }
}

const dueOf = ({ due }: Run, call: number): number => due?.[call] ?? 0

function timesBetween(
  run: Run,
  from: number,
  to: number,
): { p50Ms: number; p99Ms: number; maxMs: number; loadCalls: number } {
  const times = run.times.filter((_, call) => dueOf(run, call) >= from && dueOf(run, call) < to).toSorted()
  return {
    loadCalls: times.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: times.at(-1) ?? 0,
  }
}

function seriesOf(run: Run, from: number, to: number, side: SideName): Series {
  const start = Math.min(...(run.due ?? []).slice(0, 10))
  const seconds = new Map<number, number[]>()
  for (const [call, ms] of run.times.entries()) {
    const second = Math.floor((dueOf(run, call) - start) / 1000)
    seconds.set(second, [...(seconds.get(second) ?? []), ms])
  }
  return {
    part: 'build',
    side,
    what: 'a mixed load while an index is built',
    points: [...seconds]
      .toSorted(([a], [b]) => a - b)
      .map(([second, times]) => {
        const sorted = times.toSorted((a, b) => a - b)
        return { second, p50Ms: round(percentile(sorted, 0.5)), p99Ms: round(percentile(sorted, 0.99)) }
      }),
    from: (from - start) / 1000,
    to: (to - start) / 1000,
  }
}
