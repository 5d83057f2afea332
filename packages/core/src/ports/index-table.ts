import type { CallOptions } from './call.ts'

/**
 * How a property is kept in an index table. `uuid`: 16 bytes. `string`: UTF-8 bytes, see `STRING_PREFIX_BYTES`.
 * `integer` and `time` (µs since 1970): bigint of 64 bits. `number`: a finite double, never -0. `boolean`: 0n or 1n.
 */
export type ColumnType = 'uuid' | 'string' | 'integer' | 'number' | 'boolean' | 'time'

/** One property's value as a port takes and gives it: bytes for uuid and string, number for number, bigint for the rest. */
export type KeyValue = Uint8Array | number | bigint

/** The values of an index row, a value per column, in the index's order. */
export type Key = readonly KeyValue[]

/** A string of more bytes than this is kept as its first bytes followed by a SHA-256 of the whole. */
export const STRING_PREFIX_BYTES = 512
/** The longest key value of a string, in bytes: the prefix and a SHA-256. */
export const STRING_KEY_BYTES: number = STRING_PREFIX_BYTES + 32

/** An index table's name and columns: all that a driver has to know of an index. */
export interface IndexTableSpec {
  /** The table's name, safe in SQL without quoting, unique to the index and its generation. */
  readonly table: string
  readonly columns: readonly {
    readonly name: string
    readonly type: ColumnType
    /** The table is kept, and read, from the column's greatest value to its least. */
    readonly order?: 'desc' | undefined
  }[]
  /** A table of claims: one row per key, so that `entity_id` is no part of its primary key. */
  readonly unique?: true | undefined
  /** Rows have `included` bytes. */
  readonly covering?: true | undefined
}

export interface IndexRow {
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** The greatest version that any writer has stamped on this row. */
  readonly version: number
  /**
   * In a table that is `covering`: bytes of the write whose version this is, null where that had none to give. A scan gives them when
   * it is asked to, other calls do not.
   */
  readonly included?: Uint8Array | null | undefined
}

/** A row to delete if its stamp is lower than `before`. */
export interface IndexRowRemoval {
  readonly key: Key
  readonly entityId: Uint8Array
  readonly before: number
}

/** A range of the rows of an index table. */
export interface KeyRange {
  /** Values of the leading columns that rows have exactly. May be empty. */
  readonly prefix: Key
  /** Bounds of the column after the prefix: its least and its greatest value, whichever way it stands. */
  readonly lower?: { readonly value: KeyValue; readonly inclusive: boolean }
  readonly upper?: { readonly value: KeyValue; readonly inclusive: boolean }
}

export interface IndexScan extends KeyRange {
  /**
   * Order of the columns after the prefix, then of the entity id. `asc`: each column as the table has it, ids low to high.
   * `desc`: all of that turned round.
   */
  readonly order: 'asc' | 'desc'
  /** Rows strictly behind this one in the order; with `inclusive` this one too, if it is there. */
  readonly after?: {
    readonly key: Key
    readonly entityId: Uint8Array
    readonly inclusive?: boolean | undefined
  }
  readonly limit: number
  /** Gives the rows of a `covering` table with their `included` bytes. Default: false. */
  readonly included?: boolean | undefined
}

/** One index's rows on one shard. Writes are one statement each, atomic by itself. A missing table is `INDEX_NOT_FOUND`. */
export interface IndexTable {
  /**
   * Adds rows; where one is there its version becomes the greater of the two, and its `included` bytes those of the greater,
   * of two that are equal those that come. Repeats are allowed. When it resolves, the
   * rows survive a crash of the server, those too that were there with a greater version. A table of claims refuses it
   * with `BAD_OPTION`: claims are taken, see `ClaimTable`.
   */
  upsert(rows: readonly IndexRow[], options?: CallOptions): Promise<void>
  /** Deletes those rows that are there with a lower version than `before`; answers how many. Repeats are allowed. */
  remove(rows: readonly IndexRowRemoval[], options?: CallOptions): Promise<number>
  /** Gives this stamp to the rows of an entity whose stamp is greater than any that a write can give; answers how many. */
  repairStamps(entityId: Uint8Array, version: number, options?: CallOptions): Promise<number>
  /** Rows in key order. */
  scan(scan: IndexScan, options?: CallOptions): Promise<readonly IndexRow[]>
  /**
   * What `scan` gives for each of these, in their order. Those that differ in their values and limits alone share statements, so that many
   * cost little more than one. They may be seen at different moments.
   */
  scanMany(scans: readonly IndexScan[], options?: CallOptions): Promise<readonly (readonly IndexRow[])[]>
  /** Different entities within the range. */
  count(range: KeyRange, options?: CallOptions): Promise<number>
  /** What `count` gives for each of these, in their order; as `scanMany`. */
  countMany(ranges: readonly KeyRange[], options?: CallOptions): Promise<readonly number[]>
}
