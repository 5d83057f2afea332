import type { Inlined } from '../tools/inlined.ts'
import type { ColumnType } from './index-table.ts'
import type { StoreLayout } from './layout.ts'
import type { ShardServes } from './shard-serves.ts'
import type { CallOptions } from './call.ts'
import type { KeptCopy } from './entity-table.ts'

/** Catalog of a shard: its place in the store, and the indexes of the store. */
export interface ShardCatalog {
  /** Grows with every change of this shard's catalog; entity writes carry it. Starts at 1. Other shards may have other epochs. */
  readonly epoch: number
  /**
   * Epoch of the change that gave the catalog its contents, the same on every shard with these contents and never above `epoch`.
   * Undefined while it equals `epoch`, as in a store without moves.
   */
  readonly contentsEpoch?: number | undefined
  /** Format of the other fields. Default: 1. */
  readonly format?: number | undefined
  /** Features that a process has to know before it takes part. The same on every shard. */
  readonly requires?: readonly Requirement[] | undefined
  /** Id of the store, the same on every shard. */
  readonly storeId: string
  /** This shard's number, from 0: its place in the layout, which it keeps. */
  readonly shardNumber: number
  /** This shard's own buckets. Undefined: those of the layout, and none is on its way. */
  readonly serves?: ShardServes | undefined
  /** Number of shards, for processes that do not know the layout. */
  readonly shardCount: number
  /** Fingerprint of the router that the store was made with. */
  readonly router: string
  /** Undefined until the first `init` by a version that knows layouts; the router's own assignment counts until then. */
  readonly layout?: StoreLayout | undefined
  readonly indexes: readonly CatalogEntry[]
  /**
   * Whether processes may commit entities whose index rows are still pending. False announces that they soon may; queries
   * look for pending rows already. Undefined: they may not, and queries do not look.
   */
  readonly mayDefer?: boolean | undefined
  /**
   * Longest time of one query call that returns complete results, in milliseconds. Lost index rows stay a bit longer than
   * this. Never changes. Undefined in stores of the first releases, which means 5,000.
   */
  readonly queryTimeMs?: number | undefined
  /** The policies of the store, see `StorePolicies`. Each is undefined until it is set. */
  readonly deleteDelayMs?: number | undefined
  readonly onIndexFailure?: StorePolicies['onIndexFailure'] | undefined
  readonly keepTombstonesMs?: number | undefined
  /** Whether indexes that are added become exact, see `CatalogEntry.exact`. Processes that do not know exact indexes are refused then. */
  readonly exactIndexes?: true | undefined
  /**
   * `Shard.entityTable`, the same on every shard. Undefined for drivers without tables, and until the first `init` by a version that
   * records it.
   */
  readonly entityTable?: string | undefined
  /** Whether bodies may refer to codec entries. Never reset, because such bodies stay. */
  readonly definitions?: true | undefined
}

/** Policies that are safe only if all processes of a store follow the same ones. */
export type StorePolicies = Inlined<{
  /**
   * Milliseconds for which a failover to a lagging replica may still undo an acknowledged commit. Until a commit is older, its
   * lost index rows stay; then the cleaner deletes them. With 0 they are deleted as soon as no query needs them.
   */
  readonly deleteDelayMs: number
  /**
   * Behaviour of a write if the shard of an index row is down. `fail`: nothing is committed, and the error is retryable.
   * `defer`: the entity is committed with a pending row on its own shard, and queries on that index report that they are
   * incomplete until the cleaner has written the index row.
   */
  readonly onIndexFailure: 'fail' | 'defer'
  /**
   * Milliseconds for which the cleaner keeps the tombstone of a deleted entity, at least an hour. A follower of changes that is away
   * for longer has to start over. The cleaner waits for consumers that are behind, at most four times as long.
   */
  readonly keepTombstonesMs: number
}>

/** A feature of a store that a process has to know, because it would do harm without. */
export interface Requirement {
  readonly name: string
  /** First version of `@looseleaf/store` that knows it. */
  readonly since: string
}

/**
 * - `building`: written, not queried; cleaners fill it.
 * - `ready`: written, and queried unless it is hidden.
 * - `retiring`: written, no longer queried.
 * - `dropped`: neither. The entry stays so that its table name is never reused.
 */
export type IndexState = Inlined<'building' | 'ready' | 'retiring' | 'dropped'>

/**
 * A local row is written in the transaction of its entity; any other row is far. Local rows of an exact index may be deleted in
 * the commit that loses them, because every reader of the index protects itself. An index that is in use becomes exact in three steps:
 * - `counted`: each writer knows the step, and keeps lost local rows of other exact indexes while the entity has a far row in this one.
 * - `protected`: readers protect themselves as well.
 * - `on`: writers delete local rows at once.
 */
export type ExactStep = Inlined<'counted' | 'protected' | 'on'>

export interface CatalogEntry extends IndexDefinitionData {
  /** 1 for the first definition under this name, and one more for each changed one. */
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /**
   * Not queried, but still written, so that the index is complete when it is shown again. A hidden index that is `building` is
   * not filled. A process that does not know this field goes by the state, which is safe.
   */
  readonly hidden?: true | undefined
  /** Undefined for an index that is not exact. */
  readonly exact?: ExactStep | undefined
  /** Stops cleaners from filling a `building` index. A cleaner that does not know this field fills it, which is safe. */
  readonly paused?: true | undefined
}

/** An index definition as plain data. */
export interface IndexDefinitionData {
  readonly name: string
  readonly properties: readonly IndexedProperty[]
  /** An indexed property, or `id`: rows stand on their entity's shard. */
  readonly shardOn: string
  /** A write with a misfit is refused (`refuse`), or has no row in this index (`skip`). */
  readonly onMisfit: 'refuse' | 'skip'
  /**
   * In a definition: no two entities may have the same key. In a catalog entry: its table has the claims of the index; the
   * index rows belong to another entry.
   */
  readonly unique?: true | undefined
  /** The ids of its entities are made near the value of `shardOn`, so most of its rows are local. */
  readonly near?: true | undefined
  /** Properties that a covering index includes in its rows; undefined for an index that is not covering. */
  readonly include?: readonly string[] | undefined
  /** Values of the entities that have rows and claims, for a partial index; undefined for an index of all entities. */
  readonly on?: IndexPredicate | undefined
  /**
   * Path to the time at which an entity expires. Present in a catalog entry if cleaners delete expired entities by this index.
   */
  readonly expires?: string | undefined
}

/**
 * Condition of a partial index: property names, with dots leading into objects, and their values. Each of the 1 to 4 properties
 * has to equal its value, including the type, or one of a list of 2 to 16 values.
 */
export type IndexPredicate = Readonly<Record<string, PredicateValue | readonly PredicateValue[]>>

export type PredicateValue = Inlined<string | number | boolean>

export interface IndexedProperty {
  /** Name of the property in queries and `shardOn`. */
  readonly name: string
  /** Type of the value in bags and queries. */
  readonly type: ColumnType
  /** True for an array with an index row per element. */
  readonly many: boolean
  /** Path of the value in the bag. Default: `name`. */
  readonly of?: string | undefined
  /** Name of the key function whose result the index stores in place of the value. */
  readonly key?: string | undefined
  /** Sorts from the greatest value to the least. Default: from the least to the greatest. */
  readonly order?: 'desc' | undefined
  /**
   * Position, in the index's own order, of the rows of entities without a value. Undefined: such entities have no row.
   */
  readonly nulls?: 'first' | 'last' | undefined
}

/** State that a change of a shard's catalog needs. A shard that went back to an earlier one may lack it. */
export interface HeldState {
  /** Its floor is this one or a later one, in microseconds since 1970. */
  readonly floor: number
  readonly copies: readonly KeptCopy[]
}

export interface CatalogChangeOptions extends CallOptions {
  /** State that has to be there. Default: any. */
  readonly holding?: HeldState | undefined
}

/** The one-row catalog of a shard. */
export interface CatalogTable {
  /** Reads the catalog; undefined if its table or row is missing. */
  load(options?: CallOptions): Promise<ShardCatalog | undefined>
  /** Writes the first catalog. Returns false if there is one already. */
  init(catalog: ShardCatalog, options?: CallOptions): Promise<boolean>
  /**
   * Replaces the catalog if the shard's epoch is still `from`, and if it has the state `holding`, after entity writes in flight. Returns false
   * and changes nothing otherwise.
   */
  change(catalog: ShardCatalog, from: number, options?: CatalogChangeOptions): Promise<boolean>
}
