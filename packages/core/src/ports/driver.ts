import type { Inlined } from '../tools/inlined.ts'
import type { CallOptions } from './call.ts'
import type { CatalogTable } from './catalog-table.ts'
import type { ClaimTable } from './claim-table.ts'
import type { CodecEntryTable } from './codec-entry-table.ts'
import type { EntityTable } from './entity-table.ts'
import type { IndexRow, IndexTable, IndexTableSpec } from './index-table.ts'
import type { PendingTable } from './pending-table.ts'
import type { ShardSnapshot, SnapshotOptions } from './shard-snapshot.ts'
import type { StatementSummary } from '../tools/statement-summary.ts'
import type { StatementListener } from './statement-listener.ts'
import type { TaskTable } from './task-table.ts'

/** One database that holds a part of the store. */
export interface Shard {
  /** Its address without credentials, for people and for `Driver.shardAt`: host, port and database, or a file. */
  readonly name: string
  /** Name of its table of entities, which a store keeps. Absent in drivers without tables. */
  readonly entityTable?: string | undefined
  readonly entities: EntityTable
  readonly catalog: CatalogTable
  readonly tasks: TaskTable
  readonly pending: PendingTable
  readonly codecEntries: CodecEntryTable
  /** Returns the table of an index, the same object for the same table name. Does no I/O. */
  index(spec: IndexTableSpec): IndexTable
  /**
   * Returns the claims of a unique index, the same object for the same table name. Does no I/O. The spec has `unique`. Claims are
   * taken through this object, and read and removed through `index(spec)`.
   */
  claims(spec: IndexTableSpec): ClaimTable
  /**
   * Reads every row of these entities in these index tables: an unordered list per table, in few statements for any number of
   * tables. Rejects with `INDEX_NOT_FOUND` if a table is missing.
   */
  rowsOf(
    specs: readonly IndexTableSpec[],
    entityIds: readonly Uint8Array[],
    options?: CallOptions,
  ): Promise<readonly (readonly IndexRow[])[]>
  /** Creates the tables of entities, the catalog, tasks, pending rows and codec entries that are missing. */
  createTables(options?: CallOptions): Promise<void>
  /** Creates an index table if it is missing. */
  createIndexTable(spec: IndexTableSpec, options?: CallOptions): Promise<void>
  /** Drops an index table if it exists, without blocking readers for long. */
  dropIndexTable(spec: IndexTableSpec, options?: CallOptions): Promise<void>
  /**
   * Compares the tables of a shard, and these index tables, with the tables that the database has under their names. Changes nothing.
   * Absent in drivers whose databases have no tables of other programs.
   */
  checkTables?(indexes: readonly IndexTableSpec[], options?: CallOptions): Promise<TableCheck>
  /** Rejects with `SHARD_DENIED` if the user may not create tables. Changes nothing. Absent in drivers that create none. */
  tryCreateTable?(options?: CallOptions): Promise<void>
  /** Returns the statements of `createTables` and `createIndexTable`, for people who run them by hand. */
  schema(indexes: readonly IndexTableSpec[]): readonly string[]
  /**
   * Resolves when every commit that was visible on this shard before the call is durable. A database may show a commit before it is
   * on disk, so flush between a read and an action that cannot be undone.
   *
   * A flush alone is not enough if the server may restart in between:
   * 1. A caller reads commit A, which is not on disk.
   * 2. The server crashes, loses A, and starts again.
   * 3. The flush succeeds on the restarted server.
   *
   * So read again after the flush: what is there before and after it is durable.
   */
  flush(options?: CallOptions): Promise<void>
  /**
   * Opens a snapshot for several reads, at most `MAX_SNAPSHOTS` at once; further calls wait. The caller closes it. Absent where the
   * database cannot, as SQLite in memory.
   */
  snapshot?(options: SnapshotOptions): Promise<ShardSnapshot>
  /** Reads the database's clock, in microseconds since 1970. Fails like any statement, so it serves as a health check. */
  now(options?: CallOptions): Promise<number>
  /**
   * Replicas of this server, for reads only. A replica has every transaction up to one that this server committed a while ago, and no
   * later one.
   */
  readonly replicas?: readonly Shard[] | undefined
  /** Returns the state of the connections, without I/O. Absent in drivers without a pool. */
  connections?(): ConnectionState | undefined
  /** Estimates the sizes of the tables from the database's statistics, without counting. Absent in drivers without statistics. */
  sizes?(options?: CallOptions): Promise<ShardSizes | undefined>
  /** Lists the statements that the server is executing in this database, the longest first. Absent in drivers without a server. */
  activity?(options?: CallOptions): Promise<readonly RunningStatement[]>
  /** Describes settings that endanger the guarantees of a store; empty if there are none. */
  warnings(options?: CallOptions): Promise<readonly string[]>
}

/** The tables that a database has under the names of those of a shard. */
export interface TableCheck {
  /** Names of the tables that `createTables` and `createIndexTable` would create. */
  readonly missing: readonly string[]
  readonly foreign: readonly ForeignTable[]
}

/** A table whose columns or key differ from those that `createTables` or `createIndexTable` makes. */
export interface ForeignTable {
  readonly name: string
  /** Columns that it has and columns that it should have, with their types, for people. */
  readonly found: string
  readonly expected: string
}

/** A statement that a server is executing for any client; without its values. */
export interface RunningStatement extends StatementSummary {
  /** Id of its connection at the server, as in `KILL QUERY`. */
  readonly session: number
  /** Milliseconds since it began. MySQL reports whole seconds. */
  readonly runningMs: number
  /** State in the server's words, such as `Sending data`. */
  readonly state: string
  /** Sessions whose locks it waits for; undefined if this user may not see locks. */
  readonly waitsFor: readonly number[] | undefined
}

/** Estimates of any age. A value that the database does not report is undefined. */
export interface ShardSizes {
  /** Size of all tables and their keys in bytes. */
  readonly bytes: number
  /** Number of entities and tombstones. */
  readonly entities: number | undefined
  /** Estimates by table name. A table without an estimate is absent. */
  readonly tables: ReadonlyMap<string, { readonly rows: number; readonly bytes: number }>
}

export type ConnectionState = Inlined<{
  /** Connections that are open or opening. */
  readonly open: number
  /**
   * Connections opened since the start, including closed ones. If this number has not changed, no caller has reached a different or
   * restarted server.
   */
  readonly opened: number
  /** Open connections that are not in use. */
  readonly idle: number
  /** Size of the pool. */
  readonly limit: number
  /** Calls that wait for a connection. */
  readonly waiting: number
  /** Reason why the breaker rejects calls, for people; undefined while it is closed. */
  readonly refusal: string | undefined
  /** Time of the server's last answer, by `performance.now()`; undefined before the first. */
  readonly lastAnswer?: number | undefined
}>

/** Connections to shards of a store. */
export interface Driver {
  /** The shards by number, in an open store. Shards are appended when they join the store, so look at the list when you need it. */
  readonly shards: readonly Shard[]
  /**
   * Returns the shard at an address, given as `Shard.name` or in the form that the driver takes for its shards; the same object for the
   * same address, and for a name the last one of an address with credentials. Sends nothing, and does not append it to `shards`. Throws `BAD_OPTION` for an address that the driver cannot use.
   * Absent in drivers that know their own shards only.
   */
  shardAt?(address: string | object): Shard
  /**
   * Closes the connections to the shard with this name, which was removed from the store, once their statements have ended. Later calls to
   * it reject with `CLOSED`; `shardAt` connects anew. Absent in drivers that keep all connections until `close`.
   */
  leave?(name: string): Promise<void>
  /** Waits for statements in flight, then closes every connection. Later calls reject with `CLOSED`. */
  close(): Promise<void>
}

/** Result of `mysqlShards(…)` and `sqliteShards(…)`. Opens no connection before `connect`. */
export interface DriverFactory {
  /** Number of shards that `connect` connects to. */
  readonly shardCount: number
  /**
   * Connects to all shards. Rejects if a shard denies access or if no shard is reachable. While some shards are unreachable, only
   * calls to those shards reject.
   */
  connect(options?: ConnectOptions): Promise<Driver>
}

export interface ConnectOptions {
  /** Receives every statement that the driver sends, except those that set up a connection. */
  readonly statements?: StatementListener | undefined
  /** Called when the breaker of a shard opens (`isRefusing`) or closes again. Must not throw. */
  readonly onRefusing?: ((shard: string, isRefusing: boolean) => void) | undefined
}
