import type {
  Bag,
  CallOptions,
  Codec,
  DriverFactory,
  EntityId,
  IndexDefinitionData,
  LooseleafError,
  Observer,
  Randomness,
  Router,
  SharedCacheFactory,
  Storable,
  Time,
} from '@looseleaf/core'
import type {
  Inlined,
  ExactStep,
  IndexPredicate,
  IndexState,
  ReplicaReadOptions,
  StorePolicies,
} from '@looseleaf/core/internal'
import type { NearKey } from '@looseleaf/index-engine'
import type { OnDamaged, OnUnavailable } from '@looseleaf/index-engine/internal'
import type { SlowCall } from './observing/slow-calls.ts'
import type { CacheOptions } from './reading/freshness/entity-cache.ts'
import type { unchanged } from './unchanged.ts'

export interface DataStoreOptions {
  /** The databases of all shards, in any order once the store is made: `mysqlShards([...])`, `sqliteShards({...})`. */
  readonly shards: DriverFactory
  /** The indexes that this process queries. Its writes maintain the other indexes of the store as well. Two definitions of one name are two generations. Default: none. */
  readonly indexes?: readonly IndexDefinitionData[] | undefined
  /**
   * Gives each key its bucket, and a new store its bucket map; a router without buckets decides the shard of each key. Must never change for
   * a store, except for the map. Default: `bucketRouter({ shards })`.
   */
  readonly router?: Router | undefined
  /** Turns bags into bodies. May be changed at any time, because a body names its format. Default: `msgpackZlibCodec()`. */
  readonly codec?: Codec | undefined
  /**
   * Keeps entities that `get` and `getMany` have read in memory, and answers these calls from there; a cache from `memcachedCache(…)` is
   * shared with other processes. All other calls read the database. Default: no cache.
   */
  readonly cache?: CacheOptions | SharedCacheFactory | undefined
  /**
   * Creates missing tables, adds the given indexes that the store lacks, and replaces indexes whose table is missing. While a shard does
   * not answer, does nothing and warns. Default: false.
   */
  readonly migrate?: boolean | undefined
  /**
   * With `migrate`: accepts an empty shard although others hold entities of a store in use. Use it only if the data of the shard is lost for
   * good. Rejected otherwise, because an address that leads to another database looks the same. Default: false.
   */
  readonly acceptEmptyShards?: boolean | undefined
  /**
   * `index-first`: writes index rows before the entity is committed, so that no query misses it. `entity-first`: commits the entity first,
   * as in FriendFeed's article. A query may miss it until its rows are written, or after a crash until the cleaner has passed. The cleaner
   * also deletes its lost rows. Default: `index-first`.
   */
  readonly writeOrder?: WriteOrder | undefined
  /**
   * Policy for index rows whose shard cannot be written. `fail`: the write fails with a retryable error, and commits nothing. `defer`: the
   * entity is committed together with a note on its own shard, `put` returns `indexed: false`, and queries on that index return
   * `complete: false` until the cleaner has written the row. `defer` needs `index-first`.
   *
   * The same for all processes of the store. The first process that gives it sets it; in a store in use it then waits five seconds, until
   * all queries look for pending rows. Later values have to agree; `setPolicies` changes it. Default: the store's policy, or `fail`.
   */
  readonly onIndexFailure?: 'fail' | 'defer' | undefined
  /**
   * Milliseconds for which a failover to a lagging replica may still lose an acknowledged commit. The cleaner deletes lost index rows after
   * that time. The same for all processes of the store, as `onIndexFailure`. Default: the store's policy, or 0: writers delete lost rows at
   * once, or when no query needs them any more.
   */
  readonly deleteDelayMs?: number | undefined
  /**
   * Milliseconds that a query may take and still be complete, in every process of the store. Lost index rows are kept for somewhat longer, so
   * that a query finds an entity that moves meanwhile. A query that takes longer returns `complete: false`; `getAll` and exact counts reject.
   * Set with `migrate` when the store is made, and never changed; later values have to agree. Default: 5,000.
   */
  readonly queryTimeMs?: number | undefined
  /**
   * Milliseconds after which a write begins no further attempt. An attempt fails if another write of the entity or a change of the catalog
   * comes first, if the database undoes it (after a deadlock or a long wait for a lock), or if its answer was lost and it was not committed.
   *
   * After that time the write rejects with the retryable `DEADLINE`, and nothing was written, or with `OUTCOME_UNKNOWN` if an attempt may
   * still be committed. An attempt in flight is not cut short, because the driver has a deadline for each statement. A `signal` ends the wait
   * of one call at any time. Default: 30,000.
   */
  readonly writeTimeoutMs?: number | undefined
  /** Receives calls, statements and events as they happen. Default: none. */
  readonly observer?: Observer | undefined
  /**
   * Milliseconds above which a call is reported with its statements; at most 10 reports within a minute. Never reports `scan` and
   * `scanDamaged`, which take as long as their reader. Default: no reports.
   */
  readonly slowCallMs?: number | undefined
  /** Receives slow calls; needs `slowCallMs`. Default: a warning for each. */
  readonly onSlowCall?: ((call: SlowCall) => void) | undefined
  /** Receives warnings, such as those of unsafe durability settings of a database. Default: `process.emitWarning`. */
  readonly onWarning?: ((message: string) => void) | undefined
  /** Clocks and timers. Default: those of the machine. */
  readonly time?: Time | undefined
  /** Random numbers for versions and pauses. Default: those of the machine. */
  readonly random?: Randomness | undefined
}

export type WriteOrder = 'index-first' | 'entity-first'

export interface NewIdOptions {
  /**
   * Makes the id in the bucket of this id, or of a key under its type, such as `{ string: 'acme' }`: an index that has such a property as
   * its `shardOn` has the key's rows in the same bucket.
   */
  readonly near?: EntityId | NearKey | undefined
}

export interface InsertOptions extends CallOptions {
  /** The entity's id. Overrides an `id` in the bag. Default: a fresh id. */
  readonly id?: EntityId | undefined
  /** Makes the fresh id near this id or key, as `newId` does. Refused together with an id. */
  readonly near?: EntityId | NearKey | undefined
}

export interface PutOptions extends InsertOptions {
  /**
   * Writes only if the entity has this version, and rejects with `VERSION_MISMATCH` otherwise. 0 writes only if there is no entity. Leave it
   * out to write in any case. An explicit undefined is rejected, so that a missing form field does not switch the check off.
   */
  readonly ifVersion?: number
}

export interface WriteOptions extends CallOptions {
  /**
   * Writes only if the entity has this version, and rejects with `VERSION_MISMATCH` otherwise. Leave it out to write in any case. An explicit
   * undefined is rejected, so that a missing form field does not switch the check off.
   */
  readonly ifVersion?: number
}

export interface ExistsOptions extends CallOptions, ReplicaReadOptions {}

export interface GetOptions extends CallOptions, ReplicaReadOptions {
  /** Reads from the database even if the store has a cache, and puts the result into the cache. Reads from replicas never use the cache. Default: false. */
  readonly fresh?: boolean | undefined
}

export interface GetManyOptions extends GetOptions {
  /** Handling of damaged entities. `skip` or a function returns undefined in their place. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
  /** Handling of a shard that does not answer. `skip` leaves its entities out, and returns `PartialEntities`. Default: `fail`. */
  readonly onUnavailable?: OnUnavailable | undefined
}

export interface ScanOptions extends CallOptions {
  /** Handling of damaged entities. `skip` or a function leaves them out. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
}

/** An entity that this process cannot read, as `scanDamaged` finds it. */
export interface DamagedEntity {
  readonly id: EntityId
  /** The stored version. If no write can have given it, such as 0, it is the damage itself. */
  readonly version: number
  /** Time of writing, by the database's clock. */
  readonly updated: Date
  /** The shard's name. */
  readonly shard: string
  /** The stored body; null for a tombstone with a damaged version. */
  readonly body: Uint8Array | null
  /**
   * The error of decoding it. `BODY_DAMAGED`: no process can read it with this codec. `BODY_UNKNOWN` or `BODY_TOO_LARGE`: a process with
   * another codec, key or limit may.
   */
  readonly error: LooseleafError
}

export interface PutResult {
  readonly id: EntityId
  /** The entity's version after the call. */
  readonly version: number
  /** True if there was no entity under this id before. */
  readonly created: boolean
  /** False if the cleaner has to write some index rows; see `onIndexFailure` and `writeOrder`. */
  readonly indexed: boolean
  /** Pass it as `after` to reads from replicas, in any process, so that they know this write. */
  readonly token: string
}

/** Edits the bag of an entity. Returns the new bag, or `unchanged` to write nothing. */
export type Edit<B extends object = Bag> = (bag: Bag) => Bag | Storable<B> | typeof unchanged

export interface StoreStatus {
  readonly storeId: string
  /** The policies of all processes of the store. */
  readonly policies: StorePolicies
  readonly shards: readonly ShardStatus[]
  /** The indexes by the shards that answer; by the memory of this process while no shard answers. */
  readonly indexes: readonly IndexStatus[]
}

export type ShardStatus = Inlined<{
  readonly name: string
  /** The error of the shard, whose other values are then unknown; undefined if it answers. */
  readonly error: LooseleafError | undefined
  readonly epoch: number | undefined
  readonly entities: number | undefined
  readonly tombstones: number | undefined
  /** Time of writing of the oldest tombstone; undefined if there is none. */
  readonly oldestTombstone: Date | undefined
  /** Warnings of unsafe settings. */
  readonly warnings: readonly string[]
}>

export interface IndexStatus {
  readonly name: string
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /** Properties with their types, such as `user_id uuid, published time`, with `[]` for properties that hold arrays. */
  readonly columns: string
  readonly shardOn: string
  /** Included properties of a covering index. */
  readonly include?: readonly string[]
  /** Values that an entity needs to have rows in a partial index. */
  readonly on?: IndexPredicate
  /** Path of the time at which entities expire, if cleaners delete expired entities by this index. */
  readonly expires?: string
  /** True for the claims of a unique index, which have a table and a state besides those of its rows. */
  readonly unique?: true
  /** True while the index is hidden: written but not queried. See `hideIndex`. */
  readonly hidden?: true
  /** True while its filling is paused in every process. See `pauseIndex`. */
  readonly paused?: true
  /** `on` for an exact index; another step while it becomes one. See `setExactIndexes`. */
  readonly exact?: ExactStep
}
