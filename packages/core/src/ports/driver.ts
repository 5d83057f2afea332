import type { CallOptions } from './call.ts'
import type { CatalogTable } from './catalog-table.ts'
import type { ClaimTable } from './claim-table.ts'
import type { DefinitionTable } from './definition-table.ts'
import type { EntityTable } from './entity-table.ts'
import type { IndexRow, IndexTable, IndexTableSpec } from './index-table.ts'
import type { PendingTable } from './pending-table.ts'
import type { StatementSummary } from '../statement-summary.ts'
import type { StatementListener } from './statement-listener.ts'
import type { TaskTable } from './task-table.ts'

/** One database that holds a part of the store. */
export interface Shard {
  /** For people: host, port and database, or a file; never credentials. */
  readonly name: string
  readonly entities: EntityTable
  readonly catalog: CatalogTable
  readonly tasks: TaskTable
  readonly pending: PendingTable
  readonly definitions: DefinitionTable
  /** The table of an index; the same object for the same table name. Nothing is sent. */
  index(spec: IndexTableSpec): IndexTable
  /**
   * How the claims of a unique index are taken; the same object for the same table name. Nothing is sent. They are read and
   * removed through `index(spec)`. The spec is one with `unique`.
   */
  claims(spec: IndexTableSpec): ClaimTable
  /**
   * Every row of these entities in these index tables: a list for each table, in no order. Few statements, however many
   * tables there are. A missing table is `INDEX_NOT_FOUND`.
   */
  rowsOf(
    specs: readonly IndexTableSpec[],
    entityIds: readonly Uint8Array[],
    options?: CallOptions,
  ): Promise<readonly (readonly IndexRow[])[]>
  /** Creates the entity, catalog, task, pending and definition tables where they are missing. */
  createTables(options?: CallOptions): Promise<void>
  /** Creates an index table where it is missing. */
  createIndexTable(spec: IndexTableSpec, options?: CallOptions): Promise<void>
  /** Drops an index table where it exists, without blocking readers for long. */
  dropIndexTable(spec: IndexTableSpec, options?: CallOptions): Promise<void>
  /** The statements that `createTables` and `createIndexTable` would send, for people who run them by hand. */
  schema(indexes: readonly IndexTableSpec[]): readonly string[]
  /**
   * Resolves when whatever could be read on this shard before the call survives a crash of its server. A database may show
   * a commit before it is on disk, so this comes between reading and whatever cannot be taken back. The server may have
   * died and come back between the reading and the call: whoever reads the same again afterwards knows that it stays.
   */
  flush(options?: CallOptions): Promise<void>
  /** Microseconds since 1970 by the database's clock. Fails as any statement would, so it serves as a health check. */
  now(options?: CallOptions): Promise<number>
  /**
   * Servers that follow this one's, each with what this one had a while ago: no transaction without all that were committed before
   * it. They are only read.
   */
  readonly replicas?: readonly Shard[] | undefined
  /** How the connections to it are, without asking it; left out by drivers that have none to speak of. */
  connections?(): ConnectionState | undefined
  /** How large its tables are, as its statistics have it, without counting; left out by drivers that cannot say. */
  sizes?(options?: CallOptions): Promise<ShardSizes | undefined>
  /** Statements that its server executes in this database at this moment, longest first; left out by drivers without a server. */
  activity?(options?: CallOptions): Promise<readonly RunningStatement[]>
  /** Settings that endanger what was promised, in words; empty when all is well. */
  warnings(options?: CallOptions): Promise<readonly string[]>
}

/** A statement that a server executes, of any client; without its values. */
export interface RunningStatement extends StatementSummary {
  /** Number of its connection at the server, as in `KILL QUERY`. */
  readonly session: number
  /** Milliseconds since it began; MySQL tells whole seconds. */
  readonly runningMs: number
  /** State in the server's words, such as `Sending data`. */
  readonly state: string
  /** Sessions whose locks it waits for; undefined if this user may not see locks. */
  readonly waitsFor: readonly number[] | undefined
}

/** Estimates, however old. What the database does not say is undefined. */
export interface ShardSizes {
  /** Of all tables and their keys together, in bytes. */
  readonly bytes: number
  /** Entities and tombstones. */
  readonly entities: number | undefined
  /** By the table's name; a table that is not in it has not been estimated. */
  readonly tables: ReadonlyMap<string, { readonly rows: number; readonly bytes: number }>
}

export interface ConnectionState {
  /** Connections that are open or being opened. */
  readonly open: number
  /** All that have been opened so far, closed ones too. While this stays the same, nobody has met another server, or one that was started anew. */
  readonly opened: number
  /** Those of them that nobody uses. */
  readonly idle: number
  /** As many there may be. */
  readonly limit: number
  /** Calls that wait for one. */
  readonly waiting: number
  /** Why calls are refused without being sent, in words; undefined while they may pass. */
  readonly refusal: string | undefined
}

/** Connections to all shards of a store, in the router's order. */
export interface Driver {
  readonly shards: readonly Shard[]
  /** Waits for statements in flight, then closes every connection. Later calls reject with `CLOSED`. */
  close(): Promise<void>
}

/** What `mysqlShards(…)` and `sqliteShards(…)` give: nothing is connected before `connect`. */
export interface DriverFactory {
  /** How many shards it will connect to. */
  readonly shardCount: number
  /** Rejects when a shard refuses, or none can be reached. One of several that cannot says so by each of its calls. */
  connect(options?: ConnectOptions): Promise<Driver>
}

export interface ConnectOptions {
  /** Is told of every statement that the driver sends, but those that make a connection ready. */
  readonly statements?: StatementListener | undefined
  /** Told when calls to a shard are refused from now on without being sent, and when they may pass again. May not throw. */
  readonly onRefusing?: ((shard: string, isRefusing: boolean) => void) | undefined
}
