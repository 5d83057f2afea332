import { abortedError, platformTime } from '@looseleaf/core'
import { notStreamed, type HintedQuery, type StatementTeller } from '@looseleaf/driver-kysely'
import type Database from 'better-sqlite3'
import { CompiledQuery, type DatabaseConnection, type QueryResult } from 'kysely'
import { resultCode } from './errors.ts'
import { noFiles, type OpenFiles } from './open-files.ts'
import { nextTurn } from './turns.ts'

/** Statements that are kept prepared for each file. */
const MAX_PREPARED = 256

/** Milliseconds between two attempts at a locked file; half of it is left to chance. */
const RETRY_MS = 10

export interface ConnectionOptions {
  readonly database: Database.Database
  /** Milliseconds that a statement may wait for a locked file. */
  readonly deadlineMs: number
  readonly statements?: StatementTeller | undefined
  /** `noFiles` by default. */
  readonly files?: OpenFiles | undefined
}

/** What one call has: the file's only connection, and the right to a transaction on it. */
export interface Connection extends DatabaseConnection {
  /** Waits for its turn; until `end`, statements of other calls wait. */
  begin(): Promise<void>
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<void>
}

/** Runs each statement in a turn of its own, and never makes the process wait for a lock. */
export function createConnections(options: ConnectionOptions): { acquire(): Connection } {
  const { database, deadlineMs, statements, files = noFiles } = options
  const prepared = new Map<string, Database.Statement>()
  /** Who is in a transaction, and what resolves when it is over. */
  let holder: Connection | undefined
  let over = Promise.withResolvers<void>()

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

  /** Attempts that find the file locked are told too. */
  function runTold<Row>(query: CompiledQuery, { tell }: StatementTeller): QueryResult<Row> {
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
      // The answer comes in a later turn, so that calls made meanwhile can gather into the next statement.
      await nextTurn()
      while (isTaken(connection)) await over.promise
      if (signal?.aborted) throw abortedError(signal)
      try {
        return statements?.isListening ? runTold<Row>(query, statements) : run<Row>(query)
      } catch (error) {
        if (!isBusy(error) || platformTime.elapsed() >= until) throw error
      }
      await pause(RETRY_MS / 2 + Math.random() * RETRY_MS)
    }
  }

  function release(): void {
    holder = undefined
    over.resolve()
    over = Promise.withResolvers<void>()
  }

  return {
    acquire() {
      const connection: Connection = {
        executeQuery: (query) => execute(connection, query),
        async begin() {
          while (isTaken(connection)) await over.promise
          holder = connection
          try {
            // The file is taken at once: a transaction that has read cannot always become one that writes.
            await execute(connection, CompiledQuery.raw('BEGIN IMMEDIATE'))
          } catch (error) {
            release()
            throw error
          }
        },
        async end(how) {
          // A COMMIT that failed has ended it already.
          if (holder !== connection) return
          try {
            // Where it cannot go on, such as on a full disk, SQLite rolls back by itself.
            if (how === 'COMMIT' || database.inTransaction) await execute(connection, CompiledQuery.raw(how))
          } catch (error) {
            // What others write from now on would go with it.
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

/** True when another process holds the file: the same statement can succeed a moment later. */
export function isBusy(error: unknown): boolean {
  return resultCode(error)?.startsWith('SQLITE_BUSY') ?? false
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => platformTime.setTimeout(resolve, milliseconds))
}
