import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOAD_USER, startCluster, type Cluster } from '../cluster/cluster.ts'
import { checkHistory, type HistoryCounts } from '../history/check-history.ts'
import { moment, type ProcessHistory } from '../history/records.ts'
import { createStore } from '../history/run-history.ts'
import { createLoad } from '../load/load.ts'
import { createRandom } from '../random.ts'
import { checkInTheEnd, type FinalCheck } from '../watch/final-check.ts'
import { lastSights, openTables } from '../watch/tables.ts'
import { startWatcher, type WatchResult } from '../watch/watcher.ts'
import type { Facts, Scenario } from './scenario.ts'

export interface ScenarioRun {
  readonly seed: number
  readonly seconds: number
  readonly amount: number
  readonly processes: number
  readonly facts: Facts
  readonly counts: HistoryCounts
  readonly watch: WatchResult
  readonly final: FinalCheck
  /** From the end of the fault until every process that lived had a write acknowledged again, in milliseconds. */
  readonly recoveredMs: number | undefined
  readonly peakHeapMiB: number
  readonly hanging: number
  readonly wrongs: readonly string[]
}

/** For every statement and every connect of the load. */
const DEADLINE_MS = 1_000
/**
 * A call that takes longer hangs. A write has no deadline of its own but those of its statements, each may wait for one
 * that is under way and for a connection, and a write that loses to others is tried 64 times.
 */
const LONGEST_CALL_MS = 60 * DEADLINE_MS
const AFTER_FAULT_MS = 1_500
const MIB = 1024 * 1024

export async function runScenario(
  scenario: Scenario,
  shared: Cluster | undefined,
  { seed, amount }: { readonly seed: number; readonly amount: number },
): Promise<ScenarioRun> {
  const own = await scenario.ownCluster?.()
  try {
    const cluster = own === undefined && shared !== undefined ? shared : await startCluster(own?.options)
    try {
      return await runOn(cluster, scenario, seed, amount)
    } finally {
      if (cluster !== shared) await cluster.stop()
    }
  } finally {
    await own?.remove()
  }
}

async function runOn(
  cluster: Cluster,
  scenario: Scenario,
  seed: number,
  amount: number,
): Promise<ScenarioRun> {
  const started = performance.now()
  const { processes = 3, entities = { hot: 8, cold: 60 } } = scenario
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-matrix-'))
  const database = await cluster.createDatabase()
  const { hot, cold } = await createStore(database.adminUrls(), entities.hot, entities.cold)
  const tables = openTables(() => database.adminUrls())
  const load = createLoad({
    folder,
    seed,
    urls: database.urls,
    hot,
    cold,
    clients: 6,
    operations: 0,
    deadlineMs: DEADLINE_MS,
    poolSize: 6,
    largeBodies: 0.01,
    ...scenario.config,
  })
  try {
    const random = createRandom(seed)
    for (let n = 0; n < processes; n++)
      load.start(
        { ...(n === 0 && { cleanerGraceMs: 50 }), ...scenario.ofProcess?.(n) },
        scenario.environmentOf?.(n),
      )
    const lasting = load.workers.slice()
    await Promise.all(lasting.map(({ ready }) => ready))
    const watcher = startWatcher(tables, hot, random)
    const crashesBefore = crashesOf(cluster)
    const own = await scenario.run({ cluster, database, load, tables, random, hot, amount })
    for (const shard of cluster.shards) {
      shard.proxy.heal()
      await shard.admin('SELECT 1')
    }
    const crashes = crashesOf(cluster) - crashesBefore
    const facts = { ...own, ...(crashes > 0 && { 'crashes of mariadbd by itself': crashes }) }
    const healedAt = moment()
    await sleep(AFTER_FAULT_MS)
    for (const worker of load.workers) worker.stop()
    const { histories, hanging } = await load.end(LONGEST_CALL_MS)
    const watch = await watcher.stop()
    const final = await checkInTheEnd(tables, database.adminUrls(), LOAD_USER)
    const { counts, wrongs } = checkHistory(histories, await lastSights(tables, [...hot, ...cold], moment()))
    const recoveredMs = recovery(histories.slice(0, lasting.length), healedAt)
    const heaps = histories.map(heapOf)
    return {
      seed,
      seconds: (performance.now() - started) / 1000,
      amount,
      processes: histories.length,
      facts,
      counts,
      watch,
      final,
      recoveredMs,
      peakHeapMiB: Math.max(...heaps.map(({ peak }) => peak)) / MIB,
      hanging,
      wrongs: [
        ...wrongs,
        ...watch.missing.map((row) => `missing during the run: ${row}`),
        ...final.wrongs,
        ...(recoveredMs === undefined ? ['a process wrote nothing any more after the fault'] : []),
        ...(hanging > 0 ? [`${hanging} processes hang`] : []),
        ...(counts.longestMs > LONGEST_CALL_MS && scenario.stopsProcesses !== true
          ? [`a call took ${Math.round(counts.longestMs)} ms`]
          : []),
        ...(heaps.some(({ grows }) => grows) ? ['a process takes more and more memory'] : []),
      ],
    }
  } finally {
    await load.kill()
    for (const { proxy } of cluster.shards) proxy.heal()
    tables.close()
    // A database that stays is gone with its server; what broke the run matters more.
    await database.drop().catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  }
}

function crashesOf({ shards }: Cluster): number {
  return shards.reduce((sum, { crashes }) => sum + crashes, 0)
}

/** Undefined when a process had no write acknowledged after that moment. */
function recovery(histories: readonly ProcessHistory[], healedAt: number): number | undefined {
  const first = histories.map(({ records }) =>
    records.find(
      (record) => record.kind === 'end' && record.outcome === 'acknowledged' && record.at > healedAt,
    ),
  )
  const moments = first.map((record) => (record?.kind === 'end' ? record.at : undefined))
  if (moments.includes(undefined)) return undefined
  return (Math.max(...(moments as number[])) - healedAt) / 1000
}

/** Samples are taken between collections, so only a large and lasting difference means something. */
function heapOf({ records }: ProcessHistory): { readonly peak: number; readonly grows: boolean } {
  const heaps = records.flatMap((record) => (record.kind === 'memory' ? [record.heap] : []))
  const third = Math.floor(heaps.length / 3)
  const least = (part: readonly number[]): number => Math.min(...part)
  const grows = third >= 5 && least(heaps.slice(-third)) > 2 * least(heaps.slice(0, third)) + 64 * MIB
  return { peak: Math.max(0, ...heaps), grows }
}
