import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_SNAPSHOTS } from '@looseleaf/core/internal'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { type Cluster, LOAD_USER, startCluster } from '../../lab/cluster.ts'
import { moment } from '../../lab/records.ts'
import { holdsWithin } from '../../lab/until.ts'
import { checkHistory, type HistoryCounts } from '../history/check-history.ts'
import type { ProcessHistory } from '../history/records.ts'
import { createStore } from '../history/run-history.ts'
import { createLoad, type WorkerConfig } from '../load/load.ts'
import { checkInTheEnd, type FinalCheck } from '../watch/final-check.ts'
import { lastSights, openTables } from '../watch/tables.ts'
import { startWatcher, type Promised, type WatchResult } from '../watch/watcher.ts'
import { resourcesOf, type Resources } from './resources.ts'
import { whatDidNotHappen } from './did-nothing.ts'
import type { Facts, Judgement, Recorded, Scenario, Stage } from './scenario.ts'

export interface RunOptions {
  readonly seed: number
  readonly amount: number
  /** Pause of each caller after a call, in milliseconds, unless the scenario has its own. Default: 0. */
  readonly restMs?: number | undefined
}

export interface ScenarioRun {
  readonly seed: number
  readonly seconds: number
  readonly amount: number
  readonly processes: number
  readonly facts: Facts
  readonly counts: HistoryCounts
  /** Writes acknowledged while the fault lasted. */
  readonly acknowledgedMeanwhile: number
  /** When the rows of a committed entity had to be there. */
  readonly promised: Promised
  readonly watch: WatchResult
  readonly final: FinalCheck
  /** Milliseconds from the end of the fault until every surviving process had another write acknowledged. */
  readonly recoveredMs: number | undefined
  readonly resources: Resources
  /** Connections of the load on a server after recovery, under load, and their limit. */
  readonly connections: { readonly found: number; readonly allowed: number }
  readonly hanging: number
  /** Events that should have happened and did not, so that the run proves nothing. */
  readonly didNothing: readonly string[]
  /** All violations, including `didNothing`. */
  readonly wrongs: readonly string[]
}

/** Deadline of every statement and connect of the load. */
const DEADLINE_MS = 1_000
/** After this time a write of the load begins no further attempt. */
const WRITE_TIMEOUT_MS = 15 * DEADLINE_MS
/**
 * A longer call counts as hanging. The last attempt of a write may begin just before `WRITE_TIMEOUT_MS`, and
 * makes a read, rows and a commit or two, each of which may wait for a statement in flight. Doubled for a
 * machine with more processes than cores.
 */
const LONGEST_CALL_MS = WRITE_TIMEOUT_MS + 15 * DEADLINE_MS
/** Time for a process to end its last calls and close its store. */
const END_MS = 2 * LONGEST_CALL_MS
const AFTER_FAULT_MS = 1_500
/** Time for a server to drop lost connections. */
const UNTIL_QUIET_MS = 10_000
/** Snapshots have connections of their own, and a pool sometimes opens one more, to kill statements or to probe the shard. */
const BESIDE_POOL = MAX_SNAPSHOTS + 1
/** Greatest delay of a commit: it waits for locks, and then until its deadline ends it. */
const LATEST_COMMIT_MS = 2 * DEADLINE_MS

export async function runScenario(
  scenario: Scenario,
  shared: Cluster | undefined,
  options: RunOptions,
): Promise<ScenarioRun> {
  const own = await scenario.ownCluster?.()
  try {
    const cluster =
      own === undefined && shared !== undefined
        ? shared
        : (own?.cluster ?? (await startCluster(own?.options)))
    try {
      return await runOn(cluster, scenario, options)
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
  { seed, amount, restMs }: RunOptions,
): Promise<ScenarioRun> {
  const started = performance.now()
  const { processes = 3, entities = { hot: 8, cold: 60 } } = scenario
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-matrix-'))
  const database = await cluster.createDatabase()
  const writing = { writeTimeoutMs: WRITE_TIMEOUT_MS, ...scenario.config?.writing }
  const promised = promisedBy(writing)
  const { hot, cold, near } = await createStore(database.adminUrls(), entities.hot, entities.cold, writing)
  const tables = openTables(() => database.adminUrls(), scenario)
  const poolSize = scenario.config?.poolSize ?? 6
  const load = await createLoad(folder, {
    seed,
    urls: database.urls,
    hot,
    cold,
    near,
    clients: 6,
    operations: 0,
    deadlineMs: DEADLINE_MS,
    largeBodies: 0.01,
    restMs,
    ...scenario.config,
    writing,
    poolSize,
  })
  try {
    const random = createRandom(seed)
    for (let n = 0; n < processes; n++)
      load.start(
        { ...(n === 0 && { cleanerGraceMs: 50 }), ...scenario.ofProcess?.(n) },
        scenario.environmentOf?.(n),
      )
    const lasting = load.all
    await Promise.all(lasting.map(({ ready }) => ready))
    const watcher = startWatcher(tables, hot, random, {
      promised,
      keptMs: Math.max(0, (writing.deleteDelayMs ?? 0) - LATEST_COMMIT_MS),
    })
    const crashesBefore = crashesOf(cluster)
    const own: string[] = []
    const wrong = (what: string): void => void own.push(what)
    const stage: Stage = { cluster, database, load, tables, random, hot, amount, wrong }
    const from = moment()
    const ran = await scenario.run(stage)
    for (const shard of cluster.shards) {
      shard.proxy.heal()
      await shard.admin('SELECT 1')
    }
    const crashes = crashesOf(cluster) - crashesBefore
    const healedAt = moment()
    await Promise.race([
      Promise.all(lasting.map((worker) => worker.written())),
      sleep(END_MS, undefined, { ref: false }),
    ])
    await sleep(AFTER_FAULT_MS)
    const connections = await quietConnections(cluster, lasting.length * (poolSize + BESIDE_POOL))
    for (const worker of load.all) worker.stop()
    const { histories, hanging } = await load.end(END_MS)
    const watch = await watcher.stop()
    const after = await scenario.afterLoad?.(stage)
    const final = await checkInTheEnd(tables, database.adminUrls(), LOAD_USER, { promised })
    const sights = await lastSights(tables, [...hot, ...cold], moment())
    const judge = scenario.judge ?? judgeStrictly(promised, scenario)
    const { counts, wrongs, facts: judged } = judge({ histories, sights, watch })
    const lived = histories.slice(0, lasting.length)
    const recoveredMs = recovery(lived, healedAt)
    const resources = resourcesOf(lived)
    const facts = {
      ...ran,
      ...after,
      ...judged,
      ...(crashes > 0 && { 'crashes of mariadbd by itself': crashes }),
    }
    const mostSockets = cluster.shards.length * (poolSize + BESIDE_POOL)
    const didNothing = whatDidNotHappen(scenario, { facts, counts, watch, promised })
    return {
      seed,
      seconds: (performance.now() - started) / 1000,
      amount,
      processes: histories.length,
      facts,
      counts,
      acknowledgedMeanwhile: acknowledgedBetween(histories, from, healedAt),
      promised,
      watch,
      final,
      recoveredMs,
      resources,
      connections,
      hanging,
      didNothing,
      wrongs: [
        ...didNothing,
        ...wrongs,
        ...own,
        ...final.wrongs,
        ...(recoveredMs === undefined ? ['a process wrote nothing any more after the fault'] : []),
        ...(hanging > 0 ? [`${hanging} processes hang`] : []),
        ...(counts.longestMs > LONGEST_CALL_MS ? [`a call took ${Math.round(counts.longestMs)} ms`] : []),
        ...(resources.grows ? ['a process takes more and more memory'] : []),
        ...(resources.idleSockets > mostSockets
          ? [`a process without calls has ${resources.idleSockets} sockets, of ${mostSockets} at the most`]
          : []),
        ...(resources.leftSockets > 0
          ? [`a process that has closed its store has ${resources.leftSockets} sockets of it`]
          : []),
        ...(connections.found > connections.allowed
          ? [`a server has ${connections.found} connections, of ${connections.allowed} at the most`]
          : []),
      ],
    }
  } finally {
    await load.kill()
    for (const { proxy } of cluster.shards) proxy.heal()
    tables.close()
    // A remaining database disappears with its server; the error that broke the run matters more.
    await database.drop().catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Judges that no acknowledged write is lost and no promised row is ever missing. */
function judgeStrictly(promised: Promised, { serversCrash }: Scenario): (recorded: Recorded) => Judgement {
  return ({ histories, sights, watch }) => {
    const { counts, wrongs } = checkHistory(histories, sights, {
      queriesMayLack: promised === 'in the end',
      serversCrash,
    })
    return { counts, wrongs: [...wrongs, ...watch.missing.map((row) => `missing during the run: ${row}`)] }
  }
}

function crashesOf({ shards }: Cluster): number {
  return shards.reduce((sum, { crashes }) => sum + crashes(), 0)
}

/** Returns undefined if a process had no write acknowledged after that time. */
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

function acknowledgedBetween(histories: readonly ProcessHistory[], from: number, to: number): number {
  return histories.reduce(
    (sum, { records }) =>
      sum +
      records.filter(
        (record) =>
          record.kind === 'end' && record.outcome === 'acknowledged' && record.at >= from && record.at <= to,
      ).length,
    0,
  )
}

/**
 * Returns the highest number of the load's connections on any server, once it is within the limit or the time
 * is over.
 */
async function quietConnections(
  { shards }: Cluster,
  allowed: number,
): Promise<{ readonly found: number; readonly allowed: number }> {
  let found = 0
  const look = async (): Promise<boolean> => {
    const counts = await Promise.all(
      shards.map(async (shard) => {
        const rows = await shard.admin('SHOW PROCESSLIST')
        return rows.filter((row) => row['User'] === LOAD_USER).length
      }),
    )
    found = Math.max(...counts)
    return found <= allowed
  }
  await holdsWithin(UNTIL_QUIET_MS, look, 100)
  return { found, allowed }
}

/** Returns when the options of the stores require the rows of a committed entity. */
function promisedBy({ writeOrder, onIndexFailure }: NonNullable<WorkerConfig['writing']>): Promised {
  if (writeOrder === 'entity-first') return 'in the end'
  return onIndexFailure === 'defer' ? 'unless pending' : 'always'
}
