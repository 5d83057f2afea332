import type { Shard } from '@looseleaf/core'
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from 'kysely'
import { expect } from 'vitest'
import type { Fault, Flavor } from '../src/database/flavor.ts'
import type { HintedQuery, Row } from '../src/database/session.ts'
import { kyselyShard } from '../src/shard.ts'

/** The answer to a statement. The flavor of these tests maps the error of `fault` to that kind. */
export interface Answer {
  readonly rows?: readonly Row[]
  readonly changed?: number
  readonly fault?: Fault['kind']
}

/** A part of the text of the next statement, or `BEGIN`, `COMMIT` or `ROLLBACK`, and the answer to it. */
export type Step = readonly [part: string, answer?: Answer]

export interface ScriptedShard extends Pick<Shard, 'entities' | 'index'> {
  /** Statements of the last act. */
  readonly sent: HintedQuery[]
  /** Runs the work while the database answers exactly these statements, in this order. */
  act<T>(steps: readonly Step[], work: () => Promise<T>): Promise<PromiseSettledResult<T>>
}

/** A database whose batched swaps return the ids of the changed rows. */
const flavor = {
  now: sql`NOW`,
  unionParts: 128,
  preparedParts: 0,
  rowValuesSeek: true,
  microsOf: (updated) => sql<number>`${updated}`,
  updatedOf: (micros) => micros,
  shareLock: sql``,
  updateSource: (table) => table,
  selectSource: (table) => table,
  integer: (parameter) => parameter,
  required: (value) => value,
  ownSession: { only: (value) => value, parameters: [] },
  batchedSwap: ({ session, epochFence }) => ({
    statements(rows, fenceParameters) {
      const query = session.shape(
        'swap',
        () => sql`SWAP ${sql.raw(`${rows.length} rows`)} WHERE ${epochFence}`,
      )
      return [{ query, parameters: [...rows.map(({ id }) => id), ...fenceParameters] }]
    },
    won: (rows, [result]) => rows.map(({ id }) => result!.rows.some((row) => row.id === id)),
  }),
  visibleIsDurable: true,
  faultOf: (error) => ({ kind: (error as Error).message as Fault['kind'], message: 'as scripted.' }),
} satisfies Partial<Flavor> as unknown as Flavor

/** Creates the tables of a shard over a scripted database. `changes` overrides fields of its flavor. */
export function scriptedShard(changes: Partial<Flavor> = {}): ScriptedShard {
  let script: Step[] = []
  const unexpected: string[] = []
  const sent: HintedQuery[] = []

  async function answer(text: string): Promise<Answer> {
    const [part, given = {}] = script[0] ?? []
    if (part === undefined || !text.includes(part)) {
      unexpected.push(text)
      throw new Error('STATEMENT_FAILED')
    }
    script.shift()
    if (given.fault !== undefined) throw new Error(given.fault)
    return given
  }

  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      sent.push(query as HintedQuery)
      const { rows = [], changed = 0 } = await answer(query.sql)
      return { rows: rows as R[], numAffectedRows: BigInt(changed) }
    },
    // eslint-disable-next-line require-yield -- it always throws
    async *streamQuery() {
      throw new Error('Results are not streamed.')
    },
  }
  const say = (word: string) => async (): Promise<void> => void (await answer(word))
  const dialect: Dialect = {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => connection,
      releaseConnection: async () => {},
      beginTransaction: say('BEGIN'),
      commitTransaction: say('COMMIT'),
      rollbackTransaction: say('ROLLBACK'),
      destroy: async () => {},
    }),
  }
  const { entities, index } = kyselyShard({ name: 'scripted', dialect, flavor: { ...flavor, ...changes } })

  return {
    entities,
    index,
    sent,
    async act(steps, work) {
      script = [...steps]
      sent.length = 0
      const [outcome] = await Promise.allSettled([work()])
      expect({ unexpected, missing: script }).toEqual({ unexpected: [], missing: [] })
      return outcome
    },
  }
}
