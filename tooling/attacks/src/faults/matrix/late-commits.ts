import { setTimeout as sleep } from 'node:timers/promises'
import { readCleanerReport, type Cleaner } from '@looseleaf/cleaner'
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import type { DataStore } from '@looseleaf/store'
import { openStore } from '../../lab/open-store.ts'
import { holdsWithin } from '../../lab/until.ts'
import { createConnection } from 'mysql2/promise'
import { compareTables } from '../watch/tables.ts'
import type { Scenario, Stage } from './scenario.ts'

/**
 * Locks entities, one after the other on each of several connections per shard. Returns the number of locks.
 */
async function holdLocks(
  { random, hot, database }: Stage,
  atOnce: number,
  isOver: () => boolean,
): Promise<number> {
  let holds = 0
  const urls = database.adminUrls()
  await Promise.all(
    Array.from({ length: urls.length * atOnce }, async (_, n) => {
      const connection = await createConnection(urls[n % urls.length] ?? '')
      while (!isOver()) {
        const id = random.pick(hot).replaceAll('-', '')
        await connection.query('START TRANSACTION')
        await connection.query(`SELECT version FROM entities WHERE id = x'${id}' FOR UPDATE`).then(
          () => holds++,
          () => undefined,
        )
        await sleep(100 + random.below(700))
        await connection.query('ROLLBACK')
      }
      connection.destroy()
    }),
  )
  return holds
}

/** Sights of a follower that reads by time and trusts the clock. */
interface Follower {
  /** Writes found by reading everything. */
  readonly seen: number
  /** Part of `seen` that appeared behind the follower's cursor. */
  readonly late: number
  /** Entities whose last state appeared behind the cursor, so that the follower never saw it. */
  readonly lost: ReadonlySet<string>
}

async function follow({ tables }: Stage, shard: number, isOver: () => boolean): Promise<Follower> {
  const known = new Map<string, string>()
  const lost = new Set<string>()
  let [seen, late, cursor] = [0, 0, '']
  for (let last = false; !last;) {
    // One more look after the end, for the last writes.
    last = isOver()
    const rows = await tables.ask(
      shard,
      'SELECT HEX(id) AS id, version, CAST(updated AS CHAR) AS u FROM entities',
    )
    const seenUntil = cursor
    for (const row of rows) {
      const [id, version, updated] = [String(row['id']), String(row['version']), String(row['u'])]
      if (known.get(id) !== version) {
        seen++
        lost.delete(id)
        if (seenUntil !== '' && updated < seenUntil) {
          late++
          lost.add(id)
        }
      }
      known.set(id, version)
      if (updated > cursor) cursor = updated
    }
    await sleep(15)
  }
  return { seen, late, lost }
}

export const lateCommits: Scenario = {
  name: 'late commits',
  what: 'other sessions hold locks on entities, so that writes become visible after writes with later times',
  unit: 'seconds',
  full: 25,
  config: { clients: 8 },
  needs: ['holds', 'writes that a cursor by time would miss'],
  async run(stage) {
    const until = performance.now() + stage.amount * 1000
    const isOver = (): boolean => performance.now() >= until
    const [holds, ...followers] = await Promise.all([
      holdLocks(stage, 1, isOver),
      ...stage.cluster.shards.map((_, shard) => follow(stage, shard, isOver)),
    ])
    return {
      holds,
      'writes that a cursor by time would miss': followers.reduce((sum, { late }) => sum + late, 0),
      'writes seen': followers.reduce((sum, { seen }) => sum + seen, 0),
    }
  },
}

/** Time for the tail to handle everything after the load has ended. */
const REPAIR_MS = 60_000
const LOCKS_PER_SHARD = 3

/** One cleaner that never sweeps, and followers by time to compare it with. */
interface Tail {
  readonly store: DataStore
  readonly cleaner: Cleaner
  /** Rows that the cleaner had added before it only followed. */
  readonly addedBefore: number
  /** Progress of the sweeps, in words. */
  readonly sweeps: string
  /** Ends the locks and the followers. */
  end(): Promise<{ readonly holds: number; readonly followers: readonly Follower[] }>
  stop(): Promise<void>
}

/**
 * Creates a scenario with `entity-first` writes in which a third of the statements that write rows fail. The
 * cleaner never sweeps: it has to find every missing row by following the writes up to the floors of the
 * shards.
 */
function forTheTail(): Scenario {
  let tail: Tail | undefined
  return {
    name: 'late commits, a tail',
    what: 'the same, but rows are written after their entities and often refused; a cleaner that never sweeps must find them by following the writes',
    unit: 'seconds',
    full: 25,
    config: { clients: 8, writing: { writeOrder: 'entity-first' }, refuseRows: 0.33 },
    entities: { hot: 60, cold: 200 },
    needs: ['rows that the tail wrote', 'last states that a cursor by time would miss'],
    // The scenario runs the only cleaner itself.
    ofProcess: () => ({ cleanerGraceMs: undefined }),
    async run(stage) {
      // Locks last until the load has ended, so that its last writes are late too.
      tail = await startTail(stage)
      await sleep(stage.amount * 1000)
      return {}
    },
    async afterLoad(stage) {
      if (tail === undefined) return {}
      const { store, cleaner } = tail
      try {
        const { holds, followers } = await tail.end()
        const started = performance.now()
        let missing = 0
        const look = async (): Promise<boolean> => {
          missing = (await compareTables(stage.tables)).missing.length
          return missing === 0
        }
        await holdsWithin(REPAIR_MS, look, 100)
        if (missing > 0) stage.wrong(`${missing} rows are missing, which the tail should have written`)
        if ((await sweepsOf(store)) !== tail.sweeps)
          stage.wrong('a sweep has run, so this proves nothing about the tail')
        const { added, removed } = cleaner.status().totals
        return {
          holds,
          'writes that a cursor by time would miss': followers.reduce((sum, { late }) => sum + late, 0),
          'last states that a cursor by time would miss': followers.reduce(
            (sum, { lost }) => sum + lost.size,
            0,
          ),
          'rows that the tail wrote': added - tail.addedBefore,
          'rows that it removed': removed,
          'ms until nothing was missing': Math.round(performance.now() - started),
        }
      } finally {
        await tail.stop()
      }
    },
  }
}

export const lateCommitsForTheTail: Scenario = forTheTail()

async function startTail(stage: Stage): Promise<Tail> {
  const store = await openStore(stage.database.adminUrls())
  const cleaner = startTunedCleaner(store, {
    graceMs: 50,
    intervalMs: 50,
    idleIntervalMs: 200,
    catalogMs: 50,
    // A new store is swept once, at once, and then never again.
    sweepEveryMs: Number.MAX_SAFE_INTEGER,
  })
  let sweeps: string | undefined
  while (sweeps === undefined) {
    await sleep(50)
    sweeps = await sweepsOf(store)
  }
  let isOver = false
  const over = (): boolean => isOver
  const work = Promise.all([
    holdLocks(stage, LOCKS_PER_SHARD, over),
    Promise.all(stage.cluster.shards.map((_, shard) => follow(stage, shard, over))),
  ])
  // Avoids an unhandled rejection if the run fails before it awaits them.
  work.catch(() => undefined)
  return {
    store,
    cleaner,
    sweeps,
    addedBefore: cleaner.status().totals.added,
    async end() {
      isOver = true
      const [holds, followers] = await work
      return { holds, followers }
    },
    async stop() {
      isOver = true
      await cleaner.stop()
      await store.close()
    },
  }
}

/** Returns undefined until every index has been swept once. */
async function sweepsOf(store: DataStore): Promise<string | undefined> {
  const { indexes } = await readCleanerReport(store)
  if (indexes.some(({ lastRun, inProgress }) => lastRun === undefined || inProgress !== undefined))
    return undefined
  return indexes.map(({ lastRun }) => lastRun?.finishedAt.toISOString()).join()
}
