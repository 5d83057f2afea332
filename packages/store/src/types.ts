import type {
  Bag,
  CallOptions,
  Codec,
  DriverFactory,
  EntityId,
  IndexDefinitionData,
  IndexPredicate,
  IndexState,
  LooseleafError,
  Observer,
  Randomness,
  ReplicaReadOptions,
  Router,
  SharedCacheFactory,
  Storable,
  StorePolicies,
  Time,
} from '@looseleaf/core'
import type { OnDamaged } from '@looseleaf/index-engine'
import type { SlowCall } from './observing/slow-calls.ts'
import type { CacheOptions } from './reading/entity-cache.ts'
import type { unchanged } from './unchanged.ts'

export interface DataStoreOptions {
  /** The databases, in an order that stays the same: `mysqlShards([...])`, `sqliteShards({...})`. */
  readonly shards: DriverFactory
  /** The indexes that this process queries. Others of the store are kept up to date all the same. */
  readonly indexes?: readonly IndexDefinitionData[] | undefined
  /** Default: `bucketRouter({ shards })`. It has to be the same for ever. */
  readonly router?: Router | undefined
  /** Default: `msgpackZlibCodec()`. May be changed at any time: bodies say by themselves what they are. */
  readonly codec?: Codec | undefined
  /**
   * Keeps what `get` and `getMany` have read in memory, and answers them from there. Writes, queries and all else go by what is
   * stored now. Default: nothing is kept. What `memcachedCache(…)` gives keeps it where other processes find it too.
   */
  readonly cache?: CacheOptions | SharedCacheFactory | undefined
  /**
   * Create missing tables, add the given indexes that the store does not have, and begin those anew that have lost a table.
   * While a shard does not answer nothing of that is done, and a warning says so. Default: false.
   */
  readonly migrate?: boolean | undefined
  /**
   * With `migrate`: begin shards anew that are empty, although others hold entities of a store in use. Their data has to be lost
   * for good; an address that leads to another database looks the same, so it is refused by default.
   */
  readonly acceptEmptyShards?: boolean | undefined
  /**
   * `index-first` (default): index rows are written before the entity is committed, so nothing is ever missing.
   * `entity-first`: the order of FriendFeed's article. The entity is committed first and its rows follow; a query may
   * miss it in between, and after a crash until the cleaner has passed. Rows that it lost are left to the cleaner too.
   */
  readonly writeOrder?: WriteOrder | undefined
  /**
   * What to do when the shard of an index row cannot be written. `fail`: nothing is committed, the error is retryable.
   * `defer`: the entity is committed together with a note on its own shard, `put` answers `indexed: false`, and queries on
   * that index say `complete: false` until the cleaner has written the row. Only for `index-first`. One for all processes of
   * the store: the first that gives it sets it, and waits for five seconds where the store is in use, until the queries of all
   * others know of it; after that it has to agree, and `setPolicies` changes it. Default: what the store has, or `fail`.
   */
  readonly onIndexFailure?: 'fail' | 'defer' | undefined
  /**
   * Milliseconds for which an acknowledged commit may still be lost by a failover to a replica that lags. Index rows that a
   * write made superfluous stay until it is older than that, and the cleaner deletes them. One for all processes of the store,
   * as `onIndexFailure`. Default: what the store has, or 0: they go at once, or when no query needs them any more.
   */
  readonly deleteDelayMs?: number | undefined
  /**
   * Milliseconds that one call of a query may take to be complete, for every process of the store: index rows that an
   * entity has lost are kept for somewhat longer, so that a query under way still meets it by them when it moves. A query
   * that takes longer says `complete: false`; `getAll` and exact counts reject. Set when the store is made, and the same for
   * ever: it has an effect with `migrate` on new shards only, and has to agree elsewhere. Default: 5,000.
   */
  readonly queryTimeMs?: number | undefined
  /**
   * Milliseconds after which a write begins no further attempt. An attempt is lost when another write of the entity, or a
   * change of the catalog, comes first, when the database undoes it (a deadlock, or a wait for a lock that was too long), or its answer is
   * lost and it turns out not to have taken place. Then the write
   * fails with `DEADLINE`, which is retryable, nothing having been written; with `OUTCOME_UNKNOWN` where an attempt is
   * left of which nobody knows. An attempt that is under way goes on to its end: each of its statements has the driver's own
   * deadline. A `signal` ends the wait of a single call at any time. Default: 30,000.
   */
  readonly writeTimeoutMs?: number | undefined
  /** Is told of calls, statements and what happens beneath them, as they happen. */
  readonly observer?: Observer | undefined
  /**
   * Calls that take more milliseconds are told of, with their statements, 10 within a minute at the most. Those of `scan` and
   * `scanDamaged` are not, since they take as long as who reads them. Default: none is.
   */
  readonly slowCallMs?: number | undefined
  /** Takes them; goes with `slowCallMs`. Default: a warning for each. */
  readonly onSlowCall?: ((call: SlowCall) => void) | undefined
  /** Takes warnings, such as unsafe durability settings of a database. Default: `process.emitWarning`. */
  readonly onWarning?: ((message: string) => void) | undefined
  /** Default: the machine's time. */
  readonly time?: Time | undefined
  /** Default: the machine's own. */
  readonly random?: Randomness | undefined
}

export type WriteOrder = 'index-first' | 'entity-first'

export interface NewIdOptions {
  /** Make it on the shard of this id, now and after shards were added. */
  readonly near?: EntityId | undefined
}

export interface PutOptions extends CallOptions {
  /** The entity's id; wins over an `id` in the bag. Default: a fresh one. */
  readonly id?: EntityId | undefined
  /**
   * Write only if this is still the entity's version; `VERSION_MISMATCH` otherwise. 0: only if there is no entity. Leave it out to
   * write in any case: a version that is undefined is refused, so that a missing form field does not switch the check off.
   */
  readonly ifVersion?: number
}

export interface InsertOptions extends CallOptions {
  readonly id?: EntityId | undefined
}

export interface ChangeOptions extends CallOptions {
  /**
   * Write only if this is still the entity's version; `VERSION_MISMATCH` otherwise. Leave it out to write in any case: a version that is
   * undefined is refused, so that a missing form field does not switch the check off.
   */
  readonly ifVersion?: number
}

export interface ExistsOptions extends CallOptions, ReplicaReadOptions {}

export interface GetOptions extends CallOptions, ReplicaReadOptions {
  /**
   * Read from the database, also where the store has a cache, which then keeps what was found. Default: false. What is read from a replica
   * goes past the cache in any case, and is not kept.
   */
  readonly fresh?: boolean | undefined
}

export interface GetManyOptions extends GetOptions {
  /** What becomes of the call when one of the entities is damaged; one that is left out is undefined. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
}

export interface ScanOptions extends CallOptions {
  /** What becomes of the scan when it meets an entity that is damaged. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
}

/** An entity that this process cannot read, as `scanDamaged` finds it. */
export interface DamagedEntity {
  readonly id: EntityId
  /** As it is stored; one that no write has given, such as 0, is what is wrong with it. */
  readonly version: number
  /** When the database wrote it. */
  readonly updated: Date
  /** The shard's name. */
  readonly shard: string
  /** As it is stored; null for a tombstone whose version is wrong. */
  readonly body: Uint8Array | null
  /**
   * Why. `BODY_DAMAGED`: no process can read it with this codec. `BODY_UNKNOWN`, `BODY_TOO_LARGE`: one with another format or
   * limit may.
   */
  readonly error: LooseleafError
}

export interface PutResult {
  readonly id: EntityId
  /** The entity's version now. */
  readonly version: number
  /** True when there was no entity under this id before. */
  readonly created: boolean
  /** False when index rows are still to be written by the cleaner; see `onIndexFailure` and `writeOrder`. */
  readonly indexed: boolean
  /** For `after`: reads from replicas, by any process, that are given it know this write. */
  readonly token: string
}

/** Changes the properties of an entity; returns the new bag, or `unchanged` to leave the entity as it is. */
export type Change<B extends object = Bag> = (bag: Bag) => Bag | Storable<B> | typeof unchanged

export interface StoreStatus {
  readonly storeId: string
  /** What all processes of the store do. */
  readonly policies: StorePolicies
  readonly shards: readonly ShardStatus[]
  /** As the shards that answer have them; as this process knows them while no shard answers. */
  readonly indexes: readonly IndexStatus[]
}

export interface ShardStatus {
  readonly name: string
  /** Why it cannot be asked; its other values are unknown then. Undefined when it answers. */
  readonly error: LooseleafError | undefined
  readonly epoch: number | undefined
  readonly entities: number | undefined
  readonly tombstones: number | undefined
  /** When the oldest of these was written; undefined where there is none as well. */
  readonly oldestTombstone: Date | undefined
  /** Settings that endanger what was promised; empty when all is well. */
  readonly warnings: readonly string[]
}

export interface IndexStatus {
  readonly name: string
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /** `user_id uuid, published time`, with `[]` for properties that hold arrays. */
  readonly columns: string
  readonly shardOn: string
  /** There where rows hold these properties, too. */
  readonly include?: readonly string[]
  /** There where only entities with these values have rows. */
  readonly on?: IndexPredicate
  /** There where cleaners delete entities by the index: the path of the time at which they expire. */
  readonly expires?: string
  /** There for the claims of a unique index, which are beside its rows and have a state of their own. */
  readonly unique?: true
  /** There when it is hidden: written, queried by nobody, and whole when it is restored. See `hideIndex`. */
  readonly hidden?: true
  /** There when its filling is paused in every process. See `pauseIndex`. */
  readonly paused?: true
}
