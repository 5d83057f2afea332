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

export interface PendingPage {
  /** Rows strictly behind this one. */
  readonly after?: { readonly entityId: Uint8Array; readonly table: string } | undefined
  /** Without the rows of these index tables. */
  readonly except?: readonly string[] | undefined
  readonly limit: number
}

/** Entities of one shard whose index rows are still to be written. Rows come with `EntityInsert.deferred`. */
export interface PendingTable {
  /** The index tables that have pending rows here, each once. Cheap where there are none. */
  tables(options?: CallOptions): Promise<readonly string[]>
  /** The next rows in the order of the entities' ids, then of the index tables. */
  page(page: PendingPage, options?: CallOptions): Promise<readonly PendingRow[]>
  /** Removes rows that are there with a lower version than `before`; answers how many. */
  remove(
    rows: readonly { readonly entityId: Uint8Array; readonly table: string; readonly before: number }[],
    options?: CallOptions,
  ): Promise<number>
}
