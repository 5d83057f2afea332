import type { CallOptions } from './call.ts'

/** An entity was committed as `version` or earlier without its rows in an index, because their shard did not take them. */
export interface PendingRow {
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** The index's table. */
  readonly table: string
  /** The greatest version that was committed so. */
  readonly version: number
}

/** Entities of one shard whose index rows are still to be written. Rows come with `EntityInsert.deferred`. */
export interface PendingTable {
  /** The index tables that have pending rows here, each once. Cheap where there are none. */
  tables(options?: CallOptions): Promise<readonly string[]>
  /** Some pending rows, in no order. */
  page(limit: number, options?: CallOptions): Promise<readonly PendingRow[]>
  /** Removes rows that are there with a lower version than `before`; answers how many. */
  remove(
    rows: readonly { readonly entityId: Uint8Array; readonly table: string; readonly before: number }[],
    options?: CallOptions,
  ): Promise<number>
}
