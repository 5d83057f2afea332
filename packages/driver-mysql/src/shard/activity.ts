import { isLooseleafError } from '@looseleaf/core'
import { getOrInsert, summarise, type RunningStatement } from '@looseleaf/core/internal'
import { toNumber, type QueryRows, type Row } from '@looseleaf/driver-kysely/internal'
import { sql } from 'kysely'

/** Characters of each statement that are read: enough for its table, without the megabytes of a large insert. */
const HEAD = 2_000

/**
 * Only MariaDB has milliseconds. `info` is NULL for a statement that has just ended. MySQL refuses to read `information_schema.processlist` while
 * any session executes a prepared statement with binary values.
 */
const RUNNING = sql<Row>`
  SELECT id AS session, COALESCE(/*M!100100 time_ms, */ time * 1000) AS running, state AS state,
    LEFT(info, ${sql.lit(HEAD)}) AS text, VERSION() AS version
  FROM /*M!100100 information_schema.processlist */ /*!80022 performance_schema.processlist */
  WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND info IS NOT NULL AND id <> CONNECTION_ID()`

const WAITS = {
  mariadb: sql<Row>`
    SELECT waiter.trx_mysql_thread_id AS waiter, holder.trx_mysql_thread_id AS holder
    FROM information_schema.innodb_lock_waits AS wait
    JOIN information_schema.innodb_trx AS waiter ON waiter.trx_id = wait.requesting_trx_id
    JOIN information_schema.innodb_trx AS holder ON holder.trx_id = wait.blocking_trx_id`,
  mysql: sql<Row>`
    SELECT waiter.processlist_id AS waiter, holder.processlist_id AS holder
    FROM performance_schema.data_lock_waits AS wait
    JOIN performance_schema.threads AS waiter ON waiter.thread_id = wait.requesting_thread_id
    JOIN performance_schema.threads AS holder ON holder.thread_id = wait.blocking_thread_id`,
}

/**
 * Reads the statements that the server executes in this database, longest first. Without the privilege PROCESS, only those of the
 * same user, and no locks.
 */
export async function readActivity(query: QueryRows): Promise<readonly RunningStatement[]> {
  const rows = await query(RUNNING)
  if (rows.length === 0) return []
  const isMariadb = String(rows[0]?.['version']).includes('MariaDB')
  const holders = await readHolders(query, isMariadb)
  return rows
    .map((row): RunningStatement => {
      const session = toNumber(row['session'])
      return {
        session,
        runningMs: toNumber(row['running']),
        state: String(row['state'] ?? ''),
        ...summarise(String(row['text'])),
        waitsFor: holders && (holders.get(session) ?? []),
      }
    })
    .toSorted((a, b) => b.runningMs - a.runningMs)
}

/** Reads the sessions that hold the locks each session waits for; undefined if the user may not see locks. */
async function readHolders(
  query: QueryRows,
  isMariadb: boolean,
): Promise<ReadonlyMap<number, readonly number[]> | undefined> {
  let rows: readonly Row[]
  try {
    rows = await query(isMariadb ? WAITS.mariadb : WAITS.mysql)
  } catch (error) {
    if (isLooseleafError(error, 'SHARD_DENIED') || isLooseleafError(error, 'STATEMENT_FAILED'))
      return undefined
    throw error
  }
  const holders = new Map<number, number[]>()
  for (const row of rows)
    getOrInsert(holders, toNumber(row['waiter']), () => []).push(toNumber(row['holder']))
  return holders
}
