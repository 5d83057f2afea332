import type { CallOptions } from './call.ts'
import type { EpochWriteOptions, FencedRemoveOptions } from './entity-table.ts'

/** A pending row: an entity was committed without its rows in an index, because their shard did not accept them. */
export interface PendingRow {
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** Table of the index. */
  readonly table: string
  /** Greatest version that was committed without the rows. */
  readonly version: number
}

export interface PendingPage {
  /** Starts strictly after this row. */
  readonly after?: { readonly entityId: Uint8Array; readonly table: string } | undefined
  /** Leaves out the rows of these index tables. */
  readonly except?: readonly string[] | undefined
  readonly limit: number
}

/** The pending rows of one shard. `EntityInsert.deferred` adds them with their entity. */
export interface PendingTable {
  /** Lists the index tables that have pending rows, each once. Cheap if there are none. */
  tables(options?: CallOptions): Promise<readonly string[]>
  /** Reads the next rows in the order of entity id and index table. */
  page(page: PendingPage, options?: CallOptions): Promise<readonly PendingRow[]>
  /**
   * Adds rows that were copied from another shard. If a row exists, the greater version stays. Rows must not repeat. Rejects with
   * `STALE_EPOCH` and adds none if the shard has another epoch.
   */
  add(rows: readonly PendingRow[], options: EpochWriteOptions): Promise<void>
  /** Deletes each of these rows whose version is lower than its `before`. Returns how many. */
  remove(
    rows: readonly { readonly entityId: Uint8Array; readonly table: string; readonly before: number }[],
    options?: FencedRemoveOptions,
  ): Promise<number>
}
