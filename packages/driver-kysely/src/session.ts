import {
  LooseleafError,
  isLooseleafError,
  throwIfAborted,
  untilAborted,
  type ErrorCode,
  type Gate,
} from '@looseleaf/core'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Kysely,
  type QueryResult,
  type RawBuilder,
} from 'kysely'
import type { Flavor, TableFault } from './flavor.ts'
import { DEFINITION_TABLE, META_TABLE, PENDING_TABLE, TASK_TABLE } from './schema.ts'

/** What a connection may want to know of a statement before it sends it. */
export interface StatementHints {
  /** True for a statement that changes something: when its answer is lost, its outcome is unknown. */
  readonly write: boolean
  /** A statement whose signal has fired while it waited for a connection need not be sent. */
  readonly signal?: AbortSignal | undefined
  /**
   * For what is sent again and again, so that a connection may keep it prepared: `common` for one of few, `scan` for one of several of
   * each index, which must not take the places of those.
   */
  readonly keep?: 'common' | 'scan' | undefined
}

/** A compiled query as every connection gets it from here. */
export type HintedQuery = CompiledQuery & StatementHints

/** One row as the database client gives it. */
export type Row = Readonly<Record<string, unknown>>

/** What a table makes of the faults that depend on the table. */
export type FaultCodes = Partial<Record<TableFault, readonly [code: ErrorCode, message: string]>>

export interface Call extends Omit<StatementHints, 'keep'> {
  readonly faults: FaultCodes
}

/** A compiled statement without its parameters. */
export type Shape = CompiledQuery & Pick<StatementHints, 'keep'>

/** Sends compiled statements to one database, and speaks of errors in Looseleaf's words. */
export interface Session {
  run(query: Shape, parameters: readonly unknown[], call: Call): Promise<QueryResult<Row>>
  /** Runs the work on one connection, within a transaction. */
  transaction<T>(call: Call, work: (inner: Session) => Promise<T>): Promise<T>
  /** The compiled form of a statement: built at its first use under this key, and kept, with its hints. */
  shape(key: string, build: () => RawBuilder<unknown>, hints?: Pick<StatementHints, 'keep'>): Shape
}

/**
 * Compiled statements that are kept for each shard. Every number of rows is a statement of its own, for every table. Most
 * take a few kB; one of 500 rows takes some 100, and so does a UNION of 128 parts.
 */
const MAX_SHAPES = 1_000

export interface SessionOptions {
  /** The shard's name, for errors. */
  readonly name: string
  /** Compiles. */
  readonly db: Kysely<unknown>
  /** Gives connections. They are asked without Kysely's executor, which would take longer than the rest of a short call. */
  readonly driver: Driver
  readonly flavor: Flavor
  readonly gate: Gate
}

export function createSession({ name, db, driver, flavor, gate }: SessionOptions): Session {
  // Those in use and those in use before them: to move each to the end of one map at every use took longer than to send it.
  let shapes = new Map<string, Shape>()
  let earlier = new Map<string, Shape>()
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

  function errorOf(error: unknown, call: Call, mayHaveWritten: boolean): LooseleafError {
    if (isLooseleafError(error)) return error
    const { kind, message, table, ...rest } = flavor.faultOf(error, mayHaveWritten)
    if (kind === 'no-table' && isOwnTable(table)) return missingTable(name, table, rest.cause)
    const [code, sentence] =
      kind === 'duplicate' || kind === 'no-table' || kind === 'fence-refused'
        ? (call.faults[kind] ?? (['STATEMENT_FAILED', message] as const))
        : ([kind, message] as const)
    return new LooseleafError(code, `${name}: ${sentence}`, { shard: name, ...rest })
  }

  /** Does the work on a connection. `mayHaveWritten` is asked when it has failed. */
  async function send<T>(
    call: Call,
    work: (connection: DatabaseConnection) => Promise<T>,
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
      throw errorOf(error, call, mayHaveWritten())
    } finally {
      gate.leave()
    }
  }

  function shape(
    key: string,
    build: () => RawBuilder<unknown>,
    { keep }: Pick<StatementHints, 'keep'> = {},
  ): Shape {
    const known = shapes.get(key)
    if (known !== undefined) return known
    // Its text alone: the tree that it was compiled from is far larger.
    const found = earlier.get(key) ?? { ...CompiledQuery.raw(build().compile(db).sql), keep }
    if (shapes.size >= MAX_SHAPES / 2) {
      earlier = shapes
      shapes = new Map()
    }
    shapes.set(key, found)
    return found
  }

  /** What runs within a transaction fails as its connection does: the whole says what that means. */
  const within = (connection: DatabaseConnection): Session => ({
    run: (query, parameters, call) => execute(connection, query, parameters, call),
    transaction: () => Promise.reject(new Error('A transaction has none within it.')),
    shape,
  })

  return {
    run: (query, parameters, call) =>
      untilAborted(
        send(call, (connection) => execute(connection, query, parameters, call)),
        call.signal,
      ),
    transaction(call, work) {
      // Until its COMMIT is sent, whatever a transaction did is undone when its connection ends.
      let commits = false
      const transact = async <T>(connection: DatabaseConnection, inner: () => Promise<T>): Promise<T> => {
        await driver.beginTransaction(connection, {})
        try {
          const result = await inner()
          commits = true
          await driver.commitTransaction(connection)
          return result
        } catch (error) {
          // What went wrong first is what the caller has to know.
          await driver.rollbackTransaction(connection).catch(() => {})
          throw error
        }
      }
      const sent = send(
        call,
        (connection) => transact(connection, () => work(within(connection))),
        () => call.write && commits,
      )
      return untilAborted(sent, call.signal)
    },
    shape,
  }
}

/** A table that every shard has. A statement for an index or for claims may touch one as well. */
function isOwnTable(table: string | undefined): table is string {
  return table !== undefined && [META_TABLE, TASK_TABLE, PENDING_TABLE, DEFINITION_TABLE].includes(table)
}

/** The message where a statement names a column that a table does not have. */
export const MISSING_COLUMN =
  'a table has other columns than this version of Looseleaf expects. If the store is of an earlier version, open it with `migrate: true`, or run `looseleaf init`, which adds them.'

function missingTable(shard: string, table: string, cause: unknown): LooseleafError {
  return new LooseleafError(
    'NOT_MIGRATED',
    `${shard}: the table ${table} is missing. Open the store with \`migrate: true\`, or run \`looseleaf init\`, which creates it.`,
    { shard, cause },
  )
}

function execute(
  connection: DatabaseConnection,
  { query, queryId, sql, keep }: Shape,
  parameters: readonly unknown[],
  { write, signal }: Call,
): Promise<QueryResult<Row>> {
  const hinted: HintedQuery = { query, queryId, sql, parameters, write, signal, keep }
  return connection.executeQuery(hinted)
}
