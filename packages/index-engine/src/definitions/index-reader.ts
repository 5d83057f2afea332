import type { LooseleafError } from '@looseleaf/core'
import type { ReplicaReadOptions } from '@looseleaf/core/internal'
import type { IndexDefinition } from './define-index.ts'
import type { IndexedEntity, IndexProperties, Where } from './property-types.ts'

/** The order of the index (`asc`), or its reverse (`desc`). */
export type QueryOrder = 'asc' | 'desc'

/**
 * Handles an entity whose body cannot be decoded (`BODY_DAMAGED`, `BODY_UNKNOWN`, `BODY_TOO_LARGE`).
 * - `fail`: the call rejects with that error, which has the entity's id.
 * - `skip`: the call leaves the entity out.
 * - a function: the call leaves the entity out and passes the error to the function. If the function throws, or rejects, the call
 *   rejects with that.
 *
 * `looseleaf damaged` lists all such entities.
 */
export type OnDamaged = 'fail' | 'skip' | ((error: LooseleafError) => void)

/**
 * Handles a shard that does not answer (`SHARD_UNAVAILABLE`, `SHARD_BUSY` or `DEADLINE`, if retryable).
 * - `fail`: the call rejects with that error.
 * - `skip`: the call leaves the data of the shard out, and its answer names the shard.
 *
 * Every other error rejects the call in any case.
 */
export type OnUnavailable = 'fail' | 'skip'

export interface GetAllOptions extends ReplicaReadOptions {
  /** `asc`: the order of the index. `desc`: its reverse. Default: `asc`. */
  readonly order?: QueryOrder | undefined
  /** Asks all shards. Required if `where` has no value for `shardOn`. Default: false. */
  readonly scatter?: boolean | undefined
  /** Handles an entity whose body cannot be decoded: `fail`, `skip` or a function. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined
}

/** Reads all entities by an index. Every `DataStore` is one. */
export interface IndexReader {
  /** Returns every entity that matches, in key order. Rejects if the result may be incomplete. */
  getAll<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options?: GetAllOptions,
  ): Promise<IndexedEntity<P>[]>
}
