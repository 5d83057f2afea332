import type { CallOptions } from './call.ts'
import type { IndexRow } from './index-table.ts'

/** The entity that gets a claim, and the stamp of the claim. */
export interface ClaimHolder {
  /** 16 bytes. */
  readonly entityId: Uint8Array
  readonly version: number
}

/**
 * The claims of a unique index on one shard, one row per key. Each write is one atomic statement. Every method rejects with
 * `INDEX_NOT_FOUND` if the table is missing.
 */
export interface ClaimTable {
  /**
   * Takes keys for entities:
   * - A free key goes to the entity, with `version` as the stamp of its claim.
   * - If the entity holds the key already, the stamp becomes the greater of the two.
   * - If another entity holds the key, its claim stays as it is.
   *
   * Resolves with the claims as they are afterwards, in the order of `rows`; undefined for a claim that was deleted in between.
   * Rows may repeat. If two entities take the same key in one call, the first gets it. The resolved claims that belong to
   * their requesting entities survive a crash of the server, including claims that had a greater stamp before.
   */
  take(rows: readonly IndexRow[], options?: CallOptions): Promise<readonly (IndexRow | undefined)[]>
  /**
   * Gives a key to another entity if its claim still has this key, entity and stamp. Returns whether it did; the new claim
   * then survives a crash of the server. Rejects with `BAD_OPTION` if `to` equals the claim's entity and stamp.
   */
  swap(claim: IndexRow, to: ClaimHolder, options?: CallOptions): Promise<boolean>
}
