import { abortedError, platformTime } from '@looseleaf/core/internal'
import {
  notStreamed,
  type HintedQuery,
  type PacketAnswer,
  type PacketConnection,
  type Row,
  type StatementTeller,
} from '@looseleaf/driver-kysely/internal'
import type Database from 'better-sqlite3'
import { CompiledQuery, type QueryResult } from 'kysely'
import { resultCode } from './errors.ts'
import { noFiles, type OpenFiles } from './open-files.ts'
import { nextTurn } from './turns.ts'

/** Largest number of prepared statements per file. */
const MAX_PREPARED = 256

/** Shortest and longest pause between two attempts at a locked file, in milliseconds. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [5, 15]

const BEGIN = CompiledQuery.raw('BEGIN IMMEDIATE')
const COMMIT = CompiledQuery.raw('COMMIT')

export interface ConnectionOptions {
  readonly database: Database.Database
  /** Milliseconds that a statement may wait for a locked file. */
  readonly deadlineMs: number
  readonly statements?: StatementTeller | undefined
  /** Default: `noFiles`. */
  readonly files?: OpenFiles | undefined
}

/** A call's access to the only connection of a file. */
export interface Connection extends PacketConnection {
  /** Begins a transaction, after those of earlier calls. Statements of other calls wait until `end`. */
  begin(): Promise<void>
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<void>
}

export interface Connections {
  acquire(): Connection
  close(): void
}

/** Creates the connections of a file. Each statement runs in its own turn of the event loop, and no wait for a lock blocks the process. */
export function createConnections(options: ConnectionOptions): Connections {
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

  function run<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const statement = prepare(sql)
    files.check(!statement.readonly)
    if (statement.reader) return { rows: statement.all(...parameters) as R[] }
    return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) }
  }

  /** Runs statements in one transaction, in one turn of the event loop. */
  function runPacket(queries: readonly CompiledQuery[]): PacketAnswer {
    const results: QueryResult<Row>[] = []
    // IMMEDIATE as for other transactions. Without the lock nothing is done, and the caller tries again.
    run(BEGIN)
    try {
      for (const query of queries) results.push(run(query))
      run(COMMIT)
      return { results }
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      return { error, place: results.length, mayBeCommitted: false }
    }
  }

  /** Does the work of one text. Reports it if anybody listens, also if the file is locked. */
  function runReported<Answer>(
    textOf: () => string,
    work: () => Answer,
    outcomeOf: (answer: Answer) => { readonly rows: number; readonly error?: unknown },
  ): Answer {
    if (!statements?.isListening) return work()
    const text = textOf()
    const sentAt = platformTime.elapsed()
    const fail = (error: unknown): void => statements.tell(text, sentAt, 0, resultCode(error) ?? 'unknown')
    try {
      const answer = work()
      const { rows, error } = outcomeOf(answer)
      if (error === undefined) statements.tell(text, sentAt, rows)
      else fail(error)
      return answer
    } catch (error) {
      fail(error)
      throw error
    }
  }

  const isTaken = (connection: Connection): boolean => holder !== undefined && holder !== connection

  /** Does synchronous work in a turn of its own, and again while another process has locked the file. */
  async function inTurn<Answer>(
    connection: Connection,
    signal: AbortSignal | undefined,
    work: () => Answer,
  ): Promise<Answer> {
    const until = platformTime.elapsed() + deadlineMs
    for (;;) {
      // The answer comes in a later turn, so that calls of this turn can share the next statement.
      await nextTurn()
      while (isTaken(connection)) await released.promise
      if (signal?.aborted) throw abortedError(signal)
      try {
        return work()
      } catch (error) {
        if (!isBusy(error) || platformTime.elapsed() >= until) throw error
      }
      await pauseForLock()
    }
  }

  function execute<Answer>(connection: Connection, query: CompiledQuery): Promise<QueryResult<Answer>> {
    const { signal } = query as Partial<HintedQuery>
    const work = (): QueryResult<Answer> => run(query)
    return inTurn(connection, signal, () =>
      runReported(
        () => query.sql,
        work,
        (result) => ({ rows: rowsOf(result) }),
      ),
    )
  }

  function executePacket(connection: Connection, queries: readonly HintedQuery[]): Promise<PacketAnswer> {
    const work = (): PacketAnswer => runPacket(queries)
    return inTurn(connection, queries[0]?.signal, () =>
      runReported(
        () => packetText(queries),
        work,
        (answer) =>
          'results' in answer
            ? { rows: answer.results.reduce((sum, result) => sum + rowsOf(result), 0) }
            : { rows: 0, error: answer.error },
      ),
    )
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
        executePacket: (queries) => executePacket(connection, queries),
        async begin() {
          while (isTaken(connection)) await released.promise
          holder = connection
          try {
            // IMMEDIATE locks the file now. A transaction that begins with a read may fail at its first write, without a retry.
            await execute(connection, BEGIN)
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
    close: () => void database.close(),
  }
}

function rowsOf({ rows, numAffectedRows = 0n }: QueryResult<unknown>): number {
  return rows.length + Number(numAffectedRows)
}

function packetText(queries: readonly CompiledQuery[]): string {
  return [BEGIN, ...queries, COMMIT].map(({ sql }) => sql.trim()).join('; ')
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
