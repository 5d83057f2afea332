import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NearKey } from '@looseleaf/index-engine'
import { openStore } from '../../lab/open-store.ts'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { moment } from '../../lab/records.ts'
import { allIndexes } from '../indexes.ts'
import type { Flaw } from '../load/flawed-driver.ts'
import { createLoad, type WorkerConfig } from '../load/load.ts'
import { resourcesOf, type Resources } from '../matrix/resources.ts'
import { checkInTheEnd, type FinalCheck } from '../watch/final-check.ts'
import { lastSights, openTables } from '../watch/tables.ts'
import { startWatcher, type WatchResult } from '../watch/watcher.ts'
import { checkHistory, type HistoryCounts } from './check-history.ts'

export interface HistoryRunOptions {
  /** One empty database per shard. */
  readonly urls: readonly string[]
  /** Replicas of each shard. Default: none. */
  readonly replicas?: readonly (readonly string[])[] | undefined
  readonly seed: number
  readonly processes: number
  readonly clients: number
  /** Least number of operations, over all processes. */
  readonly operations: number
  readonly flaw?: Flaw | undefined
  /** Entities that all processes write. Default: 24. */
  readonly hot?: number | undefined
}

export interface HistoryRun {
  readonly seed: number
  readonly seconds: number
  readonly processes: number
  readonly clients: number
  readonly hot: number
  readonly cold: number
  readonly counts: HistoryCounts
  readonly watch: WatchResult
  readonly final: FinalCheck
  readonly resources: Resources
  readonly wrongs: readonly string[]
}

/** Delay between scans; several writes of a hot entity fit into it. */
const SCANS_APART_MS = 150
const HOT = 24
const COLD = 150
/** Retention of replaced rows, and the time that an ending load waits. More than a query takes here. */
const QUERY_TIME_MS = 2_000
/** A process that needs longer for its last calls counts as hanging. */
const END_MS = 900_000

/**
 * Runs processes that write and read the same entities on real databases, and compares every answer with all
 * others.
 */
export async function runHistory(options: HistoryRunOptions): Promise<HistoryRun> {
  const { urls, seed, processes, clients, operations, flaw } = options
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-history-'))
  const started = performance.now()
  const { hot, cold, near } = await createStore(urls, options.hot ?? HOT, COLD)
  const tables = openTables(() => urls)
  const load = await createLoad(folder, {
    seed,
    urls,
    replicas: options.replicas,
    hot,
    cold,
    near,
    clients,
    operations: Math.ceil(operations / processes),
    deadlineMs: 10_000,
    poolSize: 8,
    largeBodies: 0.003,
    scansApartMs: SCANS_APART_MS,
    flaw,
  })
  try {
    const watcher = startWatcher(tables, hot, createRandom(seed))
    // The first process runs a cleaner with so short a grace that it fences writers all the time.
    for (let n = 0; n < processes; n++) load.start(n === 0 ? { cleanerGraceMs: 20 } : {})
    const { histories, hanging } = await load.end(END_MS)
    const watch = await watcher.stop()
    const final = await checkInTheEnd(tables, urls, undefined)
    const sights = await lastSights(tables, [...hot, ...cold], moment())
    const { counts, wrongs } = checkHistory(histories, sights)
    const resources = resourcesOf(histories)
    return {
      seed,
      seconds: (performance.now() - started) / 1000,
      processes,
      clients,
      hot: hot.length,
      cold: cold.length,
      counts,
      watch,
      final,
      resources,
      wrongs: [
        ...wrongs,
        ...watch.missing.map((row) => `missing during the run: ${row}`),
        ...final.wrongs,
        ...(hanging > 0 ? [`${hanging} processes hang`] : []),
        ...(resources.grows ? ['a process takes more and more memory'] : []),
        ...(resources.leftSockets > 0
          ? [`a process that has closed its store has ${resources.leftSockets} sockets of it`]
          : []),
      ],
    }
  } finally {
    await load.kill()
    tables.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Creates the tables and chooses ids for the entities. Half of the hot ones share a bucket. */
export async function createStore(
  urls: readonly string[],
  hot: number,
  cold: number,
  writing: WorkerConfig['writing'] = {},
): Promise<{ readonly hot: string[]; readonly cold: string[]; readonly near: string[] }> {
  const store = await openStore(urls, {
    indexes: allIndexes,
    migrate: true,
    queryTimeMs: QUERY_TIME_MS,
    ...writing,
  })
  const ids = (count: number, near?: NearKey): string[] =>
    Array.from({ length: count }, () => store.newId({ near }))
  try {
    // Rows of this group are in the bucket of these entities. Rows of another one are on their shard by chance.
    const near = ids(Math.floor(hot / 2), { string: 'south' })
    return { hot: [...ids(hot - near.length), ...near], cold: ids(cold), near }
  } finally {
    await store.close()
  }
}
