import type { CallOptions } from './call.ts'
import type { BoundedRow, FencedRemoveOptions } from './entity-table.ts'

/**
 * Type of a column in an index table. `uuid`: 16 bytes. `string`: UTF-8 bytes, see `STRING_PREFIX_BYTES`.
 * `integer` and `time` (µs since 1970): bigint of 64 bits. `number`: a finite double, never -0. `boolean`: 0n or 1n.
 */
export type ColumnType = 'uuid' | 'string' | 'integer' | 'number' | 'boolean' | 'time'

/** Value of one column on the ports: bytes for `uuid` and `string`, a number for `number`, a bigint for the other types. */
export type KeyValue = Uint8Array | number | bigint

/** The values of an index row, one per column, in the index's order. */
export type Key = readonly KeyValue[]

/** An index stores a longer string as its first bytes, this many, followed by a SHA-256 of the whole string. */
export const STRING_PREFIX_BYTES = 512
/** Longest key value of a string in bytes: the prefix and a SHA-256. */
export const STRING_KEY_BYTES: number = STRING_PREFIX_BYTES + 32

/** Name and columns of an index table, for drivers. */
export interface IndexTableSpec {
  /** Name of the table, safe in SQL without quotes, and unique to the index and its generation. */
  readonly table: string
  readonly columns: readonly {
    readonly name: string
    readonly type: ColumnType
    /** Sorts from the greatest value to the least. */
    readonly order?: 'desc' | undefined
  }[]
  /** A table of claims: one row per key, without `entity_id` in its primary key. */
  readonly unique?: true | undefined
  /** Whether rows have `included` bytes. */
  readonly covering?: true | undefined
}

export interface IndexRow {
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** Greatest version that a writer has stamped on this row. */
  readonly version: number
  /**
   * In a `covering` table: the included properties in bytes, as of `version`; null if the write had none. Only scans with `included`
   * return them.
   */
  readonly included?: Uint8Array | null | undefined
}

/** A row to delete if its version is lower than `before`. */
export interface IndexRowRemoval {
  readonly key: Key
  readonly entityId: Uint8Array
  readonly before: number
}

/** A range of the rows of an index table. */
export interface KeyRange {
  /** Values of the leading columns. May be empty. */
  readonly prefix: Key
  /** Least and greatest value of the column after the prefix, whatever the column's order. */
  readonly lower?: { readonly value: KeyValue; readonly inclusive: boolean }
  readonly upper?: { readonly value: KeyValue; readonly inclusive: boolean }
}

export interface IndexScan extends KeyRange {
  /**
   * Order of the columns after the prefix, then of the entity id. `asc`: each column in its own order, ids ascending. `desc`: the
   * reverse.
   */
  readonly order: 'asc' | 'desc'
  /** Starts strictly after this row; with `inclusive`, at this row. */
  readonly after?: {
    readonly key: Key
    readonly entityId: Uint8Array
    readonly inclusive?: boolean | undefined
  }
  readonly limit: number
  /** Returns the `included` bytes of a `covering` table. Default: false. */
  readonly included?: boolean | undefined
}

/** A scan whose rows come with their entities. */
export interface EntityScan extends IndexScan {
  /** Leaves out larger bodies, in bytes, as `EntityTable.readBounded` does. */
  readonly maxBody: number
}

/** An index row with the entity to which it leads, as of the same moment. */
export interface JoinedRow extends IndexRow {
  /** The row of the entity or tombstone on this shard; undefined if this shard has none under the id. */
  readonly entity: BoundedRow | undefined
}

/** An index row with the version of the entity to which it leads, as of the same moment. */
export interface VersionedRow extends IndexRow {
  /** Version of the entity or tombstone on this shard; undefined if this shard has none under the id. */
  readonly entityVersion: number | undefined
}

/**
 * The rows of one index on one shard. Each write is one atomic statement. Every method rejects with `INDEX_NOT_FOUND` if the
 * table is missing.
 */
export interface IndexTable {
  /**
   * Adds rows. If a row exists, the greater version wins, with its `included` bytes; of equal versions the new bytes win. Rows may
   * repeat. When it resolves, all of these rows survive a crash of the server, including those that had a greater version before.
   * Rejects with `BAD_OPTION` for a table of claims, which are taken, see `ClaimTable`.
   */
  upsert(rows: readonly IndexRow[], options?: CallOptions): Promise<void>
  /** Deletes each of these rows whose version is lower than its `before`. Returns how many. Rows may repeat. */
  remove(rows: readonly IndexRowRemoval[], options?: FencedRemoveOptions): Promise<number>
  /** Gives this version to the rows of an entity whose version is greater than any of a write. Returns how many. */
  repairStamps(entityId: Uint8Array, version: number, options?: CallOptions): Promise<number>
  /** Reads rows in key order. */
  scan(scan: IndexScan, options?: CallOptions): Promise<readonly IndexRow[]>
  /**
   * Does several scans and returns their rows in order. Scans that differ only in values and limits share statements, so many cost
   * little more than one. The scans are not one snapshot.
   */
  scanMany(scans: readonly IndexScan[], options?: CallOptions): Promise<readonly (readonly IndexRow[])[]>
  /**
   * Like `scanMany`, with the entity of each row, if it is on this shard. Rows and entities of one scan are one snapshot. Bodies that are
   * left out cost another statement, which reads their lengths.
   */
  scanEntities(
    scans: readonly EntityScan[],
    options?: CallOptions,
  ): Promise<readonly (readonly JoinedRow[])[]>
  /** Like `scanEntities`, with versions only. */
  scanVersions(
    scans: readonly IndexScan[],
    options?: CallOptions,
  ): Promise<readonly (readonly VersionedRow[])[]>
  /** Counts the distinct entities within the range. */
  count(range: KeyRange, options?: CallOptions): Promise<number>
  /** Counts several ranges, like `scanMany`. */
  countMany(ranges: readonly KeyRange[], options?: CallOptions): Promise<readonly number[]>
  /**
   * Counts the distinct entities of each range with at most `maxRows` rows; undefined for the others, of which no more rows are read. Ranges
   * share statements, as in `scanMany`.
   */
  countShort(
    ranges: readonly KeyRange[],
    maxRows: number,
    options?: CallOptions,
  ): Promise<readonly (number | undefined)[]>
}
