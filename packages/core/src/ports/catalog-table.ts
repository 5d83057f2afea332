import type { ColumnType } from './index-table.ts'
import type { CallOptions } from './call.ts'

/** What a shard says of itself and of the store that it belongs to. */
export interface ShardCatalog {
  /** Raised with every change; writes carry it. Starts at 1. */
  readonly epoch: number
  /** The form of all that follows; undefined means 1. */
  readonly format?: number | undefined
  /** What a process has to understand to take part. The same on every shard. */
  readonly requires?: readonly Requirement[] | undefined
  /** The same on every shard of a store. */
  readonly storeId: string
  /** This shard's number, from 0. */
  readonly shardNumber: number
  readonly shardCount: number
  /** The router's fingerprint. */
  readonly router: string
  readonly indexes: readonly CatalogEntry[]
  /**
   * Whether a process may commit entities whose index rows are still pending. False: it is announced that one will; true: it
   * may. Queries look for pending rows in either case.
   */
  readonly mayDefer?: boolean | undefined
  /**
   * How long one call of a query may take, in milliseconds, to be complete. For so long, and a bit more, index rows stay
   * that an entity has lost. The same for ever; undefined, as in stores of the first releases, means 5,000.
   */
  readonly queryTimeMs?: number | undefined
  /** See `StorePolicies`; undefined as long as nobody has said anything. */
  readonly deleteDelayMs?: number | undefined
  readonly onIndexFailure?: StorePolicies['onIndexFailure'] | undefined
  readonly keepTombstonesMs?: number | undefined
  /** Whether bodies may refer to definitions of the codec; for ever, since such bodies stay. */
  readonly definitions?: true | undefined
}

/** What is only safe when all processes of a store do the same. */
export interface StorePolicies {
  /**
   * Milliseconds for which an acknowledged commit may still be lost by a failover to a replica that lags. Index rows that a
   * write made superfluous stay until it is older than that, and the cleaner deletes them. 0: they go at once, or when no
   * query needs them any more.
   */
  readonly deleteDelayMs: number
  /**
   * What to do when the shard of an index row cannot be written. `fail`: nothing is committed, the error is retryable.
   * `defer`: the entity is committed together with a note on its own shard, and queries on that index say that they are not
   * complete until the cleaner has written the row.
   */
  readonly onIndexFailure: 'fail' | 'defer'
  /**
   * Milliseconds for which the cleaner keeps the tombstone of a deleted entity: an hour at the least. A follower of changes that stays away
   * for longer has to begin again. Consumers that are behind are waited for, four times as long at the most.
   */
  readonly keepTombstonesMs: number
}

/** Something that a store is kept by, and that does harm where a process goes on without. */
export interface Requirement {
  readonly name: string
  /** The first version of `@looseleaf/store` that understands it. */
  readonly since: string
}

/**
 * `building`: written by all, queried by none, being filled. `ready`: queried, unless it is hidden. `retiring`: still written, no more queried.
 * `dropped`: neither; kept so that its table's name is never used again.
 */
export type IndexState = 'building' | 'ready' | 'retiring' | 'dropped'

export interface CatalogEntry extends IndexDefinitionData {
  /** 1 for the first definition under this name, one more for each changed one. */
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /**
   * Queried by nobody, though it is written as before, so that it is whole when it is shown again. One that is `building` is not
   * filled meanwhile. Does no harm to a process that does not know it: that one goes by the state.
   */
  readonly hidden?: true | undefined
  /** While it is `building`: no cleaner fills it. One that does not know of this fills it, which does no harm. */
  readonly paused?: true | undefined
}

/** An index definition as plain data. */
export interface IndexDefinitionData {
  readonly name: string
  readonly properties: readonly IndexedProperty[]
  /** An indexed property, or `id`: rows stand on their entity's shard. */
  readonly shardOn: string
  /** Whether a write with a value that the index cannot hold is refused, or gives no row. */
  readonly onMisfit: 'refuse' | 'skip'
  /**
   * Of a definition: no two entities may have one key. Of a catalog entry: its table is one of claims, which say who holds which
   * key; the rows of the index are those of another entry.
   */
  readonly unique?: true | undefined
  /** Rows hold what the bag has under these names, too; undefined for an index whose rows are keys alone. */
  readonly include?: readonly string[] | undefined
  /** Only entities with these values have rows; undefined for an index of all entities. Of rows and claims alike. */
  readonly on?: IndexPredicate | undefined
  /**
   * The path of the time from which an entity is no answer any more. A catalog entry has it where cleaners delete entities by the index.
   */
  readonly expires?: string | undefined
}

/**
 * The values by which entities are in a partial index: property names, dots leading into objects, and the exact values. Each of the
 * 1 to 4 properties has to equal its value, type included, or one of a list of 2 to 16.
 */
export type IndexPredicate = Readonly<Record<string, PredicateValue | readonly PredicateValue[]>>

export type PredicateValue = string | number | boolean

export interface IndexedProperty {
  /** What queries and `shardOn` call it. */
  readonly name: string
  /** The type of what the bag holds, and of what queries give. */
  readonly type: ColumnType
  /** True for a property that holds an array, with a row per element. */
  readonly many: boolean
  /** Where the bag has it; undefined means under its name. */
  readonly of?: string | undefined
  /** The name of the function whose result is kept instead of the value. */
  readonly key?: string | undefined
  /** Its values stand from the greatest to the least; undefined means from the least to the greatest. */
  readonly order?: 'desc' | undefined
  /**
   * Where, as the index is read in its own order, rows of entities stand that have nothing there; undefined means that they have
   * no row.
   */
  readonly nulls?: 'first' | 'last' | undefined
}

/** The one-row catalog of a shard. */
export interface CatalogTable {
  /** Undefined where the tables or the row are not there. */
  load(options?: CallOptions): Promise<ShardCatalog | undefined>
  /** Writes the first catalog; false when there is one already. */
  init(catalog: ShardCatalog, options?: CallOptions): Promise<boolean>
  /** Replaces the catalog if the shard's epoch is still `from`; waits for entity writes in flight. False when it is not. */
  change(catalog: ShardCatalog, from: number, options?: CallOptions): Promise<boolean>
}
