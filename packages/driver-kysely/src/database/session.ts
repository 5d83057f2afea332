import { LooseleafError, isLooseleafError, type CallOptions, type ErrorCode } from '@looseleaf/core'
import { throwIfAborted, untilAborted, type Gate } from '@looseleaf/core/internal'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Kysely,
  type QueryResult,
  type RawBuilder,
} from 'kysely'
import { codeOf, type Flavor, type TableFault } from './flavor.ts'
import { createHeldSession, type HeldSession, type OpenSnapshot } from './held-session.ts'
import type { PacketConnection } from './packet-connection.ts'
import { CODEC_TABLE, META_TABLE, PENDING_TABLE, TASK_TABLE } from './table-names.ts'

/** Hints for the connection that sends a statement. */
export interface StatementHints {
  /** True for a statement that changes something, whose outcome is unknown if the connection is lost before the answer. */
  readonly write: boolean
  /** The caller's signal. A statement need not be sent if the signal fires before a connection is free. */
  readonly signal?: AbortSignal | undefined
  /**
   * Marks a frequent statement, which a connection may keep prepared: `common` for one of few per table, `scan` for the scans of
   * an index. A connection counts the two apart, so that scans cannot evict common statements. Default: not kept.
   */
  readonly keep?: 'common' | 'scan' | undefined
}

/** A compiled query with its hints, as `executeQuery` of a connection gets it. */
export type HintedQuery = CompiledQuery & StatementHints

/** One row in the values of the database client. */
export type Row = Readonly<Record<string, unknown>>

/** The error code and message of a table for each fault that depends on the table. */
export type FaultCodes = Partial<Record<TableFault, readonly [code: ErrorCode, message: string]>>

export interface Call extends Omit<StatementHints, 'keep'> {
  readonly faults: FaultCodes
}

/** Calls of statements that read, and of ones that write, with the caller's options. */
export interface Calls {
  reading(options: CallOptions | undefined): Call
  writing(options: CallOptions | undefined): Call
}

export function callsWith(faults: FaultCodes): Calls {
  return {
    reading: (options) => ({ write: false, signal: options?.signal, faults }),
    writing: (options) => ({ write: true, signal: options?.signal, faults }),
  }
}

/** A compiled statement without its parameters. */
export type CompiledStatement = CompiledQuery & Pick<StatementHints, 'keep'>

/** A statement with its parameters, and the codes of its faults. */
export interface BoundStatement {
  readonly query: CompiledStatement
  readonly parameters: readonly unknown[]
  readonly faults: FaultCodes
}

/** Sends compiled statements to one database, and turns its errors into `LooseleafError`. */
export interface Session {
  run(query: CompiledStatement, parameters: readonly unknown[], call: Call): Promise<QueryResult<Row>>
  /**
   * Runs the statements in one transaction, and resolves with their results once it is committed. Sends BEGIN, the statements and COMMIT
   * together where the connection can, otherwise one by one. The first statement that fails ends and undoes the transaction; its faults
   * give the code of the error. The statements must not read what they change: nobody sees their results before the COMMIT.
   */
  packet(
    statements: readonly BoundStatement[],
    call: Omit<Call, 'faults'>,
  ): Promise<readonly QueryResult<Row>[]>
  /** Runs the work in a transaction on one connection. Rolls back if the work rejects. The faults of a statement are those of its own call. */
  transaction<T>(call: Call, work: (inner: Session) => Promise<T>): Promise<T>
  /** Returns the compiled statement of this key. `build` and the hints count at its first use only. */
  shape(
    key: string,
    build: () => RawBuilder<unknown>,
    hints?: Pick<StatementHints, 'keep'>,
  ): CompiledStatement
}

/**
 * Compiled statements per shard. Each number of rows of each table is a separate statement. Most take a few kB of memory; a
 * write of 500 rows or a UNION of 128 parts takes about 100 kB.
 */
const MAX_SHAPES = 1_000

/** A session that can hold a connection for several calls. */
export interface ShardSession extends Session {
  /** Opens a snapshot of the database. Its statements reject with `DEADLINE` after `maxMs`, and with `CLOSED` after `close`. */
  hold(open: OpenSnapshot, maxMs: number, call: Call): Promise<HeldSession>
}

export interface SessionOptions {
  /** Name of the shard, for errors. */
  readonly name: string
  readonly db: Kysely<unknown>
  /** Provides connections. Statements go to them without Kysely's executor, which takes longer than the rest of a short call. */
  readonly driver: Driver
  readonly flavor: Flavor
  readonly gate: Gate
}

export function createSession({ name, db, driver, flavor, gate }: SessionOptions): ShardSession {
  // Two generations of statements approximate an LRU cache. Moving an entry within one map at each use took longer than sending it.
  let recentShapes = new Map<string, CompiledStatement>()
  let olderShapes = new Map<string, CompiledStatement>()
  let isReady = false
  let starting: Promise<void> | undefined

  async function start(): Promise<void> {
    try {
      await (starting ??= driver.init())
      isReady = true
    } catch (error) {
      starting = undefined
      throw error
    }
  }

  function errorOf(error: unknown, faults: FaultCodes, mayHaveWritten: boolean): LooseleafError {
    if (isLooseleafError(error)) return error
    const { kind, message, table, ...rest } = flavor.faultOf(error, mayHaveWritten)
    if (kind === 'no-table' && isShardTable(table)) return missingTable(name, table, rest.cause)
    const [code, sentence] = faults[kind as TableFault] ?? [codeOf(kind), message]
    return new LooseleafError(code, `${name}: ${sentence}`, { shard: name, ...rest })
  }

  /** Runs the work on a connection. If it fails, `mayHaveWritten` and `faultsOf` are evaluated. */
  async function send<T>(
    call: Omit<Call, 'faults'>,
    work: (connection: DatabaseConnection) => Promise<T>,
    faultsOf: () => FaultCodes,
    mayHaveWritten: () => boolean = () => call.write,
  ): Promise<T> {
    throwIfAborted(call.signal)
    gate.enter()
    try {
      if (!isReady) await start()
      const connection = await driver.acquireConnection(call)
      try {
        return await work(connection)
      } finally {
        await driver.releaseConnection(connection)
      }
    } catch (error) {
      throw errorOf(error, faultsOf(), mayHaveWritten())
    } finally {
      gate.leave()
    }
  }

  function shape(
    key: string,
    build: () => RawBuilder<unknown>,
    { keep }: Pick<StatementHints, 'keep'> = {},
  ): CompiledStatement {
    const recent = recentShapes.get(key)
    if (recent !== undefined) return recent
    // `raw` keeps the text only: the tree that it was compiled from is far larger.
    const found = olderShapes.get(key) ?? { ...CompiledQuery.raw(build().compile(db).sql), keep }
    if (recentShapes.size >= MAX_SHAPES / 2) {
      olderShapes = recentShapes
      recentShapes = new Map()
    }
    recentShapes.set(key, found)
    return found
  }

  /** Runs the work in a transaction, and calls `onCommit` before COMMIT is sent. Until then the server undoes it when its connection ends. */
  async function transact<T>(
    connection: DatabaseConnection,
    inner: () => Promise<T>,
    onCommit: () => void,
  ): Promise<T> {
    await driver.beginTransaction(connection, {})
    try {
      const result = await inner()
      onCommit()
      await driver.commitTransaction(connection)
      return result
    } catch (error) {
      // The caller needs the first error. A failed ROLLBACK only follows from it.
      await driver.rollbackTransaction(connection).catch(() => {})
      throw error
    }
  }

  /** Errors inside a transaction stay the client's: `errorOf` maps them once, for the transaction as a whole. */
  const transactionSession = (
    connection: DatabaseConnection,
    onStatement: (faults: FaultCodes | undefined) => void,
  ): Session => ({
    run(query, parameters, call) {
      onStatement(call.faults)
      return execute(connection, query, parameters, call)
    },
    packet: (statements, call) =>
      executeAll(connection, statements, call, (statement) => onStatement(statement?.faults)),
    transaction: () => Promise.reject(new Error('A transaction cannot contain another one.')),
    shape,
  })

  return {
    run: (query, parameters, call) =>
      untilAborted(
        send(
          call,
          (connection) => execute(connection, query, parameters, call),
          () => call.faults,
        ),
        call.signal,
      ),
    packet(statements, call) {
      let mayBeCommitted = false
      /** The statement that fails, if one does. */
      let current: BoundStatement | undefined
      const work = async (connection: PacketConnection): Promise<readonly QueryResult<Row>[]> => {
        const queries = statements.map(({ query, parameters }) => hinted(query, parameters, call))
        const answer = await connection.executePacket?.(queries)
        if (answer === undefined) {
          return transact(
            connection,
            () => executeAll(connection, statements, call, (statement) => (current = statement)),
            () => (mayBeCommitted = true),
          )
        }
        if ('results' in answer) return answer.results
        current = statements[answer.place]
        mayBeCommitted = answer.mayBeCommitted
        throw answer.error
      }
      const sent = send(
        call,
        work,
        () => current?.faults ?? {},
        () => call.write && mayBeCommitted,
      )
      return untilAborted(sent, call.signal)
    },
    transaction(call, work) {
      let commitSent = false
      /** Codes of the statement that fails, if one does. */
      let current: FaultCodes | undefined
      const sent = send(
        call,
        (connection) =>
          transact(
            connection,
            () => work(transactionSession(connection, (faults) => (current = faults))),
            () => (commitSent = true),
          ),
        () => current ?? call.faults,
        () => call.write && commitSent,
      )
      return untilAborted(sent, call.signal)
    },
    async hold(open, maxMs, call) {
      throwIfAborted(call.signal)
      gate.enter()
      try {
        if (!isReady) await start()
        const connection = await open({ maxMs, signal: call.signal })
        const problem = `${name}: the snapshot`
        return createHeldSession({
          connection,
          maxMs,
          execute,
          shape,
          errorOf: (error, failed) => errorOf(error, failed.faults, false),
          tooLate: new LooseleafError('DEADLINE', `${problem} was open for ${maxMs} ms, and was ended.`, {
            shard: name,
          }),
          closed: new LooseleafError('CLOSED', `${problem} is closed.`, { shard: name }),
          onEnd: () => gate.leave(),
        })
      } catch (error) {
        gate.leave()
        throw errorOf(error, call.faults, false)
      }
    },
    shape,
  }
}

/** Tells whether this is a table that every shard has. Statements of an index or of claims touch some of them as well. */
function isShardTable(table: string | undefined): table is string {
  return table !== undefined && [META_TABLE, TASK_TABLE, PENDING_TABLE, CODEC_TABLE].includes(table)
}

/** Describes a statement that names a column or a key that a table lacks. A statement of several tables does not tell which of them. */
export function lackingTable(
  part: 'column' | 'key',
  name: string | undefined,
  tables: readonly string[],
): string {
  const [table, another] = tables
  const subject =
    table === undefined
      ? 'a table'
      : another === undefined
        ? `the table ${table}`
        : `a table of ${tables.join(', ')}`
  const missing = name === undefined ? `a ${part}` : `the ${part} ${name}`
  return `${subject} lacks ${missing} that this version of Looseleaf expects. Another version of Looseleaf or another program made the table.`
}

function missingTable(shard: string, table: string, cause: unknown): LooseleafError {
  return new LooseleafError(
    'NOT_MIGRATED',
    `${shard}: the table ${table} is missing. Open the store with \`migrate: true\`, or run \`looseleaf init\`, which creates it.`,
    { shard, cause },
  )
}

function hinted(
  { query, queryId, sql, keep }: CompiledStatement,
  parameters: readonly unknown[],
  { write, signal }: Omit<StatementHints, 'keep'>,
): HintedQuery {
  return { query, queryId, sql, parameters, write, signal, keep }
}

function execute(
  connection: DatabaseConnection,
  statement: CompiledStatement,
  parameters: readonly unknown[],
  call: Omit<StatementHints, 'keep'>,
): Promise<QueryResult<Row>> {
  return connection.executeQuery(hinted(statement, parameters, call))
}

/** Runs statements one after the other, and calls `onBegin` before each of them. */
async function executeAll(
  connection: DatabaseConnection,
  statements: readonly BoundStatement[],
  call: Omit<StatementHints, 'keep'>,
  onBegin: (statement: BoundStatement | undefined) => void,
): Promise<readonly QueryResult<Row>[]> {
  const results: QueryResult<Row>[] = []
  for (const statement of statements) {
    onBegin(statement)
    results.push(await execute(connection, statement.query, statement.parameters, call))
  }
  onBegin(undefined)
  return results
}
