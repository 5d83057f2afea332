import type { CallOptions } from './call.ts'
import type { IndexRow } from './index-table.ts'

/** Who a claim is given to, and the stamp that it gets. */
export interface ClaimHolder {
  /** 16 bytes. */
  readonly entityId: Uint8Array
  readonly version: number
}

/**
 * Who holds which key of a unique index on one shard: one row per key. Writes are one statement each, atomic by itself. A
 * missing table is `INDEX_NOT_FOUND`.
 */
export interface ClaimTable {
  /**
   * Takes keys for entities. A key that nobody holds is given to the entity, with `version` as its stamp; of a key that
   * the entity holds the stamp becomes the greater of the two; a key that another entity holds stays as it is. Answers
   * the claims as they stand afterwards, in the order of `rows`; undefined for one that is gone again. Repeats are
   * allowed, and so are rows of one key for two entities in one call: the first gets it. When it resolves, the claims of
   * the answer that belong to the entity that asked survive a crash of the server, those too that were there with a
   * greater stamp.
   */
  take(rows: readonly IndexRow[], options?: CallOptions): Promise<readonly (IndexRow | undefined)[]>
  /**
   * Gives a key to another entity, if its claim is still exactly this one: key, entity and stamp. Answers whether it did.
   * Once it has answered true, the new claim survives a crash of the server. `to` differs from what the claim has, else it is
   * `BAD_OPTION`.
   */
  swap(claim: IndexRow, to: ClaimHolder, options?: CallOptions): Promise<boolean>
}
