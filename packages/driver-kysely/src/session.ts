import {
  LooseleafError,
  isLooseleafError,
  throwIfAborted,
  untilAborted,
  type ErrorCode,
  type Gate,
} from '@looseleaf/core'
import { CompiledQuery, type Kysely, type QueryResult, type RawBuilder } from 'kysely'
import { withCallSignal } from './call-signal.ts'
import type { Flavor, TableFault } from './flavor.ts'

/** What a connection may want to know of a statement before it sends it. */
export interface StatementHints {
  /** True for a statement that changes something: when its answer is lost, its outcome is unknown. */
  readonly write: boolean
  /** A statement whose signal has fired while it waited for a connection need not be sent. */
  readonly signal?: AbortSignal | undefined
}

/** A compiled query as every connection gets it from here. */
export type HintedQuery = CompiledQuery & StatementHints

/** One row as the database client gives it. */
export type Row = Readonly<Record<string, unknown>>

/** What a table makes of the faults that depend on the table. */
export type FaultCodes = Partial<Record<TableFault, readonly [code: ErrorCode, message: string]>>

export interface Call extends StatementHints {
  readonly faults: FaultCodes
}

/** Sends compiled statements to one database, and speaks of errors in Looseleaf's words. */
export interface Session {
  run(query: CompiledQuery, parameters: readonly unknown[], call: Call): Promise<QueryResult<Row>>
  /** Runs the work on one connection, within a transaction. */
  transaction<T>(call: Call, work: (inner: Session) => Promise<T>): Promise<T>
  /** The compiled form of a statement: built at its first use under this key, and kept. */
  shape(key: string, build: () => RawBuilder<unknown>): CompiledQuery
}

/**
 * Compiled statements that are kept for each shard. Every number of rows is a statement of its own, for every table. Most
 * take a few kB; one of 500 rows takes some 100, and so does a UNION of 128 parts.
 */
const MAX_SHAPES = 1_000

export interface SessionOptions {
  /** The shard's name, for errors. */
  readonly name: string
  readonly db: Kysely<unknown>
  readonly flavor: Flavor
  readonly gate: Gate
}

export function createSession(options: SessionOptions): Session {
  const { name, flavor, gate } = options
  const shapes = new Map<string, CompiledQuery>()

  function errorOf(error: unknown, call: Call): LooseleafError {
    if (isLooseleafError(error)) return error
    const { kind, message, ...rest } = flavor.faultOf(error, call.write)
    const [code, sentence] =
      kind === 'duplicate' || kind === 'no-table' || kind === 'fence-refused'
        ? (call.faults[kind] ?? (['STATEMENT_FAILED', message] as const))
        : ([kind, message] as const)
    return new LooseleafError(code, `${name}: ${sentence}`, { shard: name, ...rest })
  }

  /** `mayHaveWritten` is asked when the work has failed. */
  async function send<T>(
    call: Call,
    work: () => Promise<T>,
    mayHaveWritten: () => boolean = () => call.write,
  ): Promise<T> {
    throwIfAborted(call.signal)
    const sent = gate.pass(async () => {
      try {
        return await withCallSignal(call.signal, work)
      } catch (error) {
        throw errorOf(error, { ...call, write: mayHaveWritten() })
      }
    })
    return untilAborted(sent, call.signal)
  }

  function over(db: Kysely<unknown>, outer: boolean): Session {
    return {
      async run(query, parameters, call) {
        const hinted: HintedQuery = { ...query, parameters, write: call.write, signal: call.signal }
        const execute = (): Promise<QueryResult<Row>> => db.executeQuery(hinted as CompiledQuery<Row>)
        return outer ? send(call, execute) : execute()
      },
      async transaction<T>(call: Call, work: (inner: Session) => Promise<T>) {
        // Until its COMMIT is sent, whatever a transaction did is undone when its connection ends.
        let commits = false
        const execute = (): Promise<T> =>
          db.transaction().execute(async (inner) => {
            const result = await work(over(inner, false))
            commits = true
            return result
          })
        return send(call, execute, () => call.write && commits)
      },
      shape(key, build) {
        let shape = shapes.get(key)
        if (shape === undefined) {
          // Its text alone: the tree that it was compiled from is far larger.
          shape = CompiledQuery.raw(build().compile(options.db).sql)
          if (shapes.size >= MAX_SHAPES) shapes.delete(shapes.keys().next().value as string)
        } else {
          // To the end: the first is the one that was not used for longest.
          shapes.delete(key)
        }
        shapes.set(key, shape)
        return shape
      },
    }
  }

  return over(options.db, true)
}
