import { abortedError, platformTime } from '@looseleaf/core/internal'
import { notStreamed, type HintedQuery, type StatementTeller } from '@looseleaf/driver-kysely/internal'
import type Database from 'better-sqlite3'
import { CompiledQuery, type DatabaseConnection, type QueryResult } from 'kysely'
import { resultCode } from './errors.ts'
import { noFiles, type OpenFiles } from './open-files.ts'
import { nextTurn } from './turns.ts'

/** Largest number of prepared statements per file. */
const MAX_PREPARED = 256

/** Shortest and longest pause between two attempts at a locked file, in milliseconds. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [5, 15]

export interface ConnectionOptions {
  readonly database: Database.Database
  /** Milliseconds that a statement may wait for a locked file. */
  readonly deadlineMs: number
  readonly statements?: StatementTeller | undefined
  /** Default: `noFiles`. */
  readonly files?: OpenFiles | undefined
}

/** A call's access to the only connection of a file. */
export interface Connection extends DatabaseConnection {
  /** Begins a transaction, after those of earlier calls. Statements of other calls wait until `end`. */
  begin(): Promise<void>
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<void>
}

/** Creates the connections of a file. Each statement runs in its own turn of the event loop, and no wait for a lock blocks the process. */
export function createConnections(options: ConnectionOptions): { acquire(): Connection } {
  const { database, deadlineMs, statements, files = noFiles } = options
  const prepared = new Map<string, Database.Statement>()
  /** Call with an open transaction, and a promise for its end. */
  let holder: Connection | undefined
  let released = Promise.withResolvers<void>()

  function prepare(text: string): Database.Statement {
    let statement = prepared.get(text)
    if (statement === undefined) {
      statement = database.prepare(text)
      if (prepared.size >= MAX_PREPARED) prepared.delete(prepared.keys().next().value as string)
      prepared.set(text, statement)
    }
    return statement
  }

  function run<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    const statement = prepare(sql)
    files.check(!statement.readonly)
    if (statement.reader) return { rows: statement.all(...parameters) as Row[] }
    return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) }
  }

  /** Runs a statement and reports it, also if the file is locked. */
  function runReported<Row>(query: CompiledQuery, { tell }: StatementTeller): QueryResult<Row> {
    const sentAt = platformTime.elapsed()
    try {
      const result = run<Row>(query)
      tell(query.sql, sentAt, result.rows.length + Number(result.numAffectedRows ?? 0))
      return result
    } catch (error) {
      tell(query.sql, sentAt, 0, resultCode(error) ?? 'unknown')
      throw error
    }
  }

  const isTaken = (connection: Connection): boolean => holder !== undefined && holder !== connection

  async function execute<Row>(connection: Connection, query: CompiledQuery): Promise<QueryResult<Row>> {
    const { signal } = query as Partial<HintedQuery>
    const until = platformTime.elapsed() + deadlineMs
    for (;;) {
      // The answer comes in a later turn, so that calls of this turn can share the next statement.
      await nextTurn()
      while (isTaken(connection)) await released.promise
      if (signal?.aborted) throw abortedError(signal)
      try {
        return statements?.isListening ? runReported<Row>(query, statements) : run<Row>(query)
      } catch (error) {
        if (!isBusy(error) || platformTime.elapsed() >= until) throw error
      }
      await pauseForLock()
    }
  }

  function release(): void {
    holder = undefined
    released.resolve()
    released = Promise.withResolvers<void>()
  }

  return {
    acquire() {
      const connection: Connection = {
        executeQuery: (query) => execute(connection, query),
        async begin() {
          while (isTaken(connection)) await released.promise
          holder = connection
          try {
            // IMMEDIATE locks the file now. A transaction that begins with a read may fail at its first write, without a retry.
            await execute(connection, CompiledQuery.raw('BEGIN IMMEDIATE'))
          } catch (error) {
            release()
            throw error
          }
        },
        async end(statement) {
          // A failed COMMIT has already ended the transaction.
          if (holder !== connection) return
          try {
            // After some errors, such as a full disk, SQLite has rolled back by itself.
            if (statement === 'COMMIT' || database.inTransaction)
              await execute(connection, CompiledQuery.raw(statement))
          } catch (error) {
            // An open transaction would undo the next writes of other calls with it.
            if (database.inTransaction) database.exec('ROLLBACK')
            throw error
          } finally {
            release()
          }
        },
        streamQuery: notStreamed,
      }
      return connection
    },
  }
}

/** Tells whether another process holds the file, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return resultCode(error)?.startsWith('SQLITE_BUSY') ?? false
}

/**
 * Waits a random time between two attempts at a locked file. No back-off: a process holds the lock for milliseconds, however often others
 * have tried.
 */
export function pauseForLock(): Promise<void> {
  const milliseconds = MIN_PAUSE_MS + Math.random() * (MAX_PAUSE_MS - MIN_PAUSE_MS)
  return new Promise((resolve) => platformTime.setTimeout(resolve, milliseconds))
}
