import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import {
  createGate,
  getOrInsert,
  systemTime,
  type ClaimTable,
  type ConnectionState,
  type EntityTable,
  type Gate,
  type IndexTable,
  type IndexTableSpec,
  type RunningStatement,
  type ShardSnapshot,
  type SnapshotOptions,
} from '@looseleaf/core/internal'
import { DummyDriver, Kysely, sql, type Dialect, type RawBuilder } from 'kysely'
import { createCatalogTable } from './bookkeeping/catalog-table.ts'
import { createHandOver } from './claims/hand-over.ts'
import { createClaimTable } from './claims/claim-table.ts'
import { createCodecEntryTable } from './bookkeeping/codec-entry-table.ts'
import { createEntityTable } from './entities/entity-table.ts'
import type { Flavor } from './database/flavor.ts'
import type { OpenSnapshot } from './database/held-session.ts'
import { createFlush } from './bookkeeping/flush.ts'
import { createIndexTable } from './indexes/index-table.ts'
import { createPendingTable } from './entities/pending-table.ts'
import { createLocalRows } from './local-rows/local-rows.ts'
import { createRowsOf } from './indexes/rows-of.ts'
import { toNumber } from './database/row-values.ts'
import { createTableChecks } from './schema/check-tables.ts'
import { indexTableStatements, tableStatements } from './schema/schema.ts'
import { callsWith, createSession, type Row, type Session } from './database/session.ts'
import { sizesOf } from './schema/sizes-of.ts'
import { createTaskTable } from './bookkeeping/task-table.ts'

export interface KyselyShardOptions {
  /** Name for messages: host, port and database, or a file. Never contains credentials. */
  readonly name: string
  /** Compiles statements, and connects to one database. A statement or transaction needs one connection. */
  readonly dialect: Dialect
  readonly flavor: Flavor
  /** Default: `entities`. */
  readonly entityTable?: string | undefined
  /** Counts the statements in flight. The shards of a driver share it, so that `close` waits for all of them. */
  readonly gate?: Gate | undefined
  readonly replicas?: readonly Omit<KyselyShardOptions, 'gate' | 'replicas'>[] | undefined
  /** Opens the connections of `snapshot`, which the port lacks without it. */
  readonly openSnapshot?: OpenSnapshot | undefined
  /** `connections` of the port. */
  readonly connections?: (() => ConnectionState) | undefined
  /** `warnings` of the port; `query` reads from the server. */
  readonly warnings?: ((query: QueryRows) => Promise<readonly string[]>) | undefined
  /** `activity` of the port; `query` reads from the server. */
  readonly activity?: ((query: QueryRows) => Promise<readonly RunningStatement[]>) | undefined
}

/** Sends a query that changes nothing, and resolves with its rows. */
export type QueryRows = (text: RawBuilder<Row>) => Promise<readonly Row[]>

/** Message of the error that a call gets after `close`. */
export const CLOSED = 'The connections to the shards are closed.'

/** Attempts of a drop, and the pause between two of them, in which waiting readers proceed. */
const DROP_ATTEMPTS = 10
const DROP_PAUSE_MS = 200

const { reading, writing } = callsWith({})

/** Creates core's `Shard` over one database. Sends nothing before the first call. */
export function kyselyShard(options: KyselyShardOptions): Shard {
  const { name, dialect, flavor, entityTable = 'entities', gate = createGate(CLOSED) } = options
  const db = compilerOf(dialect)
  const session = createSession({ name, db, driver: dialect.createDriver(), flavor, gate })
  const flush = createFlush(name, session, flavor)
  const handOver = createHandOver(flavor)
  const tableChecks = createTableChecks({ shardName: name, session, flavor, db, entityTable })
  const indexTables = new Map<string, IndexTable>()
  const claimTables = new Map<string, ClaimTable>()

  const entitiesBy = (by: Session): EntityTable =>
    createEntityTable(
      { shardName: name, session: by, flavor, table: entityTable, handOver },
      createLocalRows({ session: by, flavor, table: entityTable }),
    )
  const indexTableBy = (by: Session, spec: IndexTableSpec): IndexTable =>
    createIndexTable({ shardName: name, session: by, flavor, spec, flush, entityTable })

  function queryRows(call: CallOptions | undefined): QueryRows {
    return async (text) => {
      const { rows } = await session.run(text.compile(db), [], reading(call))
      return rows
    }
  }

  async function snapshotBy(open: OpenSnapshot, { maxMs, ...call }: SnapshotOptions): Promise<ShardSnapshot> {
    const { session: held, close } = await session.hold(open, maxMs, reading(call))
    const tables = new Map<string, IndexTable>()
    return {
      index: (spec) => getOrInsert(tables, spec.table, () => indexTableBy(held, spec)),
      entities: entitiesBy(held),
      close,
    }
  }

  async function sendAll(
    statements: readonly RawBuilder<unknown>[],
    call: CallOptions | undefined,
  ): Promise<void> {
    for (const statement of statements) await session.run(statement.compile(db), [], writing(call))
  }

  return {
    name,
    entityTable,
    entities: entitiesBy(session),
    catalog: createCatalogTable({ shardName: name, session, flavor, entityTable }),
    tasks: createTaskTable(session, flavor),
    pending: createPendingTable(session, flavor, name),
    codecEntries: createCodecEntryTable(session, flavor),

    index: (spec) => getOrInsert(indexTables, spec.table, () => indexTableBy(session, spec)),

    claims: (spec) =>
      getOrInsert(claimTables, spec.table, () => createClaimTable({ session, flavor, spec, flush })),

    rowsOf: createRowsOf(session, flavor),

    createTables: (call) => sendAll(tableStatements(entityTable, flavor), call),

    async createIndexTable(spec, call) {
      tableChecks.requireFreeName(spec)
      const [table, ...keys] = indexTableStatements(spec, flavor)
      await sendAll([table!], call)
      // Before the keys: the columns of a foreign table may be missing.
      await tableChecks.requireIndexTable(spec, call)
      await sendAll(keys, call)
    },

    checkTables: tableChecks.checkTables,

    tryCreateTable: tableChecks.tryCreateTable,

    // A waiting drop blocks every reader that comes after it. So a connection waits briefly for the table lock, and the drop is retried.
    async dropIndexTable(spec, call) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await sendAll([sql`DROP TABLE IF EXISTS ${sql.table(spec.table)}`], call)
        } catch (error) {
          if (!isLooseleafError(error, 'SHARD_BUSY') || attempt >= DROP_ATTEMPTS) throw error
        }
        await systemTime.sleep(DROP_PAUSE_MS, call?.signal)
      }
    },

    schema: (indexes: readonly IndexTableSpec[]) =>
      [
        ...tableStatements(entityTable, flavor),
        ...indexes.flatMap((spec) => indexTableStatements(spec, flavor)),
      ].map((statement) => statement.compile(db).sql),

    flush: flush.shard,

    async now(call) {
      const { rows } = await session.run(
        session.shape('now', () => sql`SELECT ${flavor.nowMicros} AS now`),
        [],
        reading(call),
      )
      return toNumber(rows[0]?.now)
    },

    async sizes(call) {
      const query = session.shape('sizes', () => flavor.sizes(entityTable))
      const { rows } = await session.run(query, [], reading(call))
      return sizesOf(rows, entityTable)
    },

    ...(options.replicas !== undefined && {
      replicas: options.replicas.map((replica) => kyselyShard({ ...replica, gate })),
    }),

    ...(options.openSnapshot !== undefined && {
      snapshot: (call: SnapshotOptions) => snapshotBy(options.openSnapshot!, call),
    }),

    ...(options.connections !== undefined && { connections: options.connections }),

    async warnings(call) {
      return options.warnings?.(queryRows(call)) ?? []
    },

    ...(options.activity !== undefined && {
      activity: async (call?: CallOptions) => options.activity!(queryRows(call)),
    }),
  }
}

/** Creates a Kysely instance that only compiles. */
function compilerOf(dialect: Dialect): Kysely<unknown> {
  return new Kysely({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
    },
  })
}
