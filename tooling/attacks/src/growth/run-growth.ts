import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sweep } from '@looseleaf/cleaner'
import type { MoveReport } from '@looseleaf/store'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { checkIndexes, type IndexesCheck } from '../lab/check-indexes.ts'
import type { Cluster, ClusterDatabase } from '../lab/cluster.ts'
import { openStore } from '../lab/open-store.ts'
import { moment } from '../lab/records.ts'
import { gatherStates } from './entity-states.ts'
import { checkTables, type TablesCheck } from './final-tables.ts'
import { changeSize } from './change-size.ts'
import { createCrew, type History } from './crew.ts'
import { startHarm, type HarmCounts } from './harm.ts'
import { growthIndexes } from './indexes.ts'
import { judge, type Verdict } from './judge.ts'
import type { GrowthRecord } from './records.ts'
import { judgeMoves, type MovesVerdict } from './judge-moves.ts'

export interface GrowthOptions {
  readonly cluster: Cluster
  readonly seed: number
  readonly entities: number
  /** Least time of the growing and shrinking, which is repeated until then. */
  readonly seconds: number
  /** Time of the load before the first shard is added. */
  readonly baselineSeconds: number
  readonly writers: number
  readonly readers: number
  /** Processes of a consumer of changes. */
  readonly consumers: number
  readonly clients: number
  readonly restMs: number
  /** Movers that work at the same time. */
  readonly movers: number
  /** Numbers of shards, one after the other, such as 2, 3, 5, 2. */
  readonly sizes: readonly number[]
  /** True to kill and stop movers, writers and servers all the time. */
  readonly kills: boolean
  /** Times of stores and movers run so many times as fast. */
  readonly speed: number
  /** The most rows that each mover copies or deletes in a second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Called with what happens, for people. */
  readonly onEvent?: ((text: string) => void) | undefined
}

export interface GrowthRun {
  readonly seed: number
  readonly seconds: number
  readonly entities: number
  readonly writers: number
  readonly cycles: number
  readonly moves: MovesVerdict
  readonly harm: HarmCounts
  readonly verdict: Omit<Verdict, 'wrongs'>
  readonly tables: Omit<TablesCheck, 'wrongs'>
  /** The cleaner's own check, after a sweep. */
  readonly indexes: IndexesCheck
  readonly hanging: number
  readonly wrongs: readonly string[]
}

const LEASE_MS = 3_000
const END_MS = 120_000
const HOT = 24

/** Grows and shrinks a store on real servers while processes use it, and compares everything that they have seen with the model. */
export async function runGrowth(options: GrowthOptions): Promise<GrowthRun> {
  const { cluster, kills, speed, seed, onEvent = () => {} } = options
  const began = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-growth-'))
  const database = await cluster.createDatabase()
  const urls = kills ? database.urls : database.adminUrls()
  const [initial = 2] = options.sizes
  const store = await openStore(urls.slice(0, initial), {
    connections: { deadlineMs: 5_000, connectTimeoutMs: 5_000 },
    indexes: growthIndexes,
    migrate: true,
    ...(speed !== 1 && { time: fastTime(speed) }),
  })
  const { entities, writers, clients, restMs } = options
  const crew = await createCrew(folder, {
    role: 'read',
    urls: urls.slice(0, initial),
    seed,
    entities,
    writers,
    hot: HOT,
    clients,
    restMs,
    part: 0,
    earlier: [],
    leaseMs: LEASE_MS,
    speed,
    rowsPerSecond: options.rowsPerSecond,
  })
  try {
    await crew.begin(options.readers, options.consumers)
    onEvent(`${entities} entities are there after ${Math.round((performance.now() - began) / 1_000)} s`)
    const filledFrom = moment()
    await sleep(options.baselineSeconds * 1_000)
    const movedFrom = moment()
    const until = performance.now() + options.seconds * 1_000
    let moves: readonly MoveReport[] = []
    const onMoves = (open: readonly MoveReport[]): void => void (moves = open)
    const harm = startHarm({
      moves: () => moves,
      cluster,
      crew,
      random: createRandom(seed),
      isActive: kills,
      onEvent,
    })
    const wrongs: string[] = []
    let cycles = 0
    do {
      cycles++
      for (const [i, size] of options.sizes.slice(1).entries()) {
        const problem = await changeSize(options.sizes[i] ?? size, size, {
          store,
          urls,
          crew,
          movers: options.movers,
          onMoves,
          onEvent,
        })
        if (problem === undefined) continue
        wrongs.push(problem)
        break
      }
    } while (performance.now() < until && wrongs.length === 0)
    const { counts, outages } = await harm.stop()
    onEvent('ending')
    const { histories, hanging } = await crew.end(END_MS)
    onEvent('judging')
    const records = judged(histories)
    const states = gatherStates(records)
    const { wrongs: seen, ...verdict } = judge(states, records, { outages, filledFrom, movedFrom })
    const before = await checkTables(database.adminUrls(), states)
    await sweep(store, { graceMs: 0 })
    const { wrongs: swept, ...tables } = await checkTables(database.adminUrls(), states)
    const indexes = await checkIndexes(store, growthIndexes)
    wrongs.push(
      ...seen,
      ...before.wrongs,
      ...swept.map((wrong) => `After a sweep: ${wrong}`),
      ...(tables.dangling > 0 ? [`After a sweep, ${tables.dangling} rows dangle`] : []),
      ...(indexes.missing + indexes.dangling + indexes.unclaimed > 0
        ? [`The cleaner's check finds ${JSON.stringify(indexes)}`]
        : []),
      ...(hanging > 0 ? [`${hanging} processes hang`] : []),
    )
    return {
      seed,
      seconds: Math.round((performance.now() - began) / 1_000),
      entities,
      writers,
      cycles,
      moves: judgeMoves(records),
      harm: counts,
      verdict,
      tables: { ...tables, dangling: before.dangling },
      indexes,
      hanging,
      wrongs,
    }
  } finally {
    await crew.kill()
    await store.close()
    await dropped(database)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the records of each process. All processes of the consumer have one history, in the order of time. */
function judged(histories: readonly History[]): readonly (readonly GrowthRecord[])[] {
  const consumed = histories.flatMap(({ role, records }) => (role === 'consume' ? records : []))
  const at = (record: GrowthRecord): number => ('at' in record ? record.at : 0)
  return [
    ...histories.flatMap(({ role, records }) => (role === 'consume' ? [] : [records])),
    consumed.toSorted((a, b) => at(a) - at(b)),
  ]
}

/** A database that is left disappears with its server. */
async function dropped(database: ClusterDatabase): Promise<void> {
  await database.drop().catch(() => undefined)
}
