import type { Inlined } from '@looseleaf/core/internal'
import type { Bag, Entity, EntityId } from '@looseleaf/core'
import type { IndexDefinition } from '../definitions/define-index.ts'
import type { GetAllOptions, OnUnavailable } from '../definitions/index-reader.ts'
import type { IndexedBag, IndexedEntity, IndexProperties, Where } from '../definitions/property-types.ts'

/** Entities of a page without a `limit`. */
export const DEFAULT_LIMIT = 50
/** Largest `limit` of a page. */
export const MAX_LIMIT = 1000

export interface QueryOptions extends GetAllOptions {
  /** Entities of a page, 1 to 1,000. It may change from page to page. Default: 50. */
  readonly limit?: number | undefined
  /** The `cursor` or the `previous` of another page of the same index, `where` and order. */
  readonly cursor?: string | undefined
  /**
   * Handles a shard that does not answer. `skip` leaves its data out; the page is then incomplete, and `cost.missingShards` names the shard.
   * Default: `fail`.
   */
  readonly onUnavailable?: OnUnavailable | undefined
}

export interface QueryPage<P extends IndexProperties = IndexProperties> {
  readonly items: readonly IndexedEntity<P>[]
  /**
   * Cursor of the next page. A page that was reached forward has it if another entity follows, or if the call reached a bound. A page
   * that was reached by `previous` always has it.
   */
  readonly cursor?: string
  /**
   * Cursor of the page before: the entities directly before this page, in the same order. The first page has none. A page that was
   * reached by `cursor` always has it. A page that was reached by `previous` has it if another entity precedes, or if the call reached
   * a bound.
   */
  readonly previous?: string
  readonly cost: QueryCost
}

/** A condition of an intersection: an index and a `where`. */
export interface IndexCondition<P extends IndexProperties = IndexProperties> {
  readonly index: IndexDefinition<P>
  /** Values or lists for its first properties, and at most one range on the next. */
  readonly where: Where<NoInfer<P>>
}

export type IndexConditions<Ps extends readonly IndexProperties[]> = {
  readonly [K in keyof Ps]: IndexCondition<Ps[K]>
}

/** The bag of an entity that an intersection returned, typed by all of its indexes. */
export type IntersectedBag<Ps extends readonly IndexProperties[]> = Ps extends readonly [
  infer P extends IndexProperties,
  ...infer Others extends readonly IndexProperties[],
]
  ? IndexedBag<P> & IntersectedBag<Others>
  : Bag

/** A page of an intersection; like a page of a query. */
export interface IntersectionPage<Ps extends readonly IndexProperties[]> extends Omit<QueryPage, 'items'> {
  readonly items: readonly Entity<IntersectedBag<Ps>>[]
}

/** The work of a page. Always `rowsExamined = rowsMatched + rowsDiscarded`. */
export type QueryCost = Inlined<{
  /** Shards that were asked for index rows. */
  readonly shards: number
  /** Scans of index rows, over all shards. */
  readonly indexReads: number
  /** Index rows that the scans returned. */
  readonly rowsRead: number
  /** Reads of entities by id, each of many at once. 0 if all entities came with their index rows. */
  readonly entityReads: number
  /** Index rows that were checked against their entity. */
  readonly rowsExamined: number
  /** Rows that gave an entity of this page. */
  readonly rowsMatched: number
  /** Rows whose entity is deleted, no longer matches, or is on a page by another row. */
  readonly rowsDiscarded: number
  /** Distinct entities that were read. */
  readonly entitiesRead: number
  /**
   * False if the page may lack a matching entity, for one of these reasons:
   * - The call reached a bound on work or bytes before the page was full. Continue with the cursor.
   * - Index rows are pending (`onIndexFailure: 'defer'`).
   * - The call took longer than the store's `queryTimeMs`, so it may have missed an entity that moved during the call.
   * - A shard did not answer, see `missingShards`.
   */
  readonly complete: boolean
  /**
   * The names of shards whose index rows or entities were left out because they did not answer, see `onUnavailable`. The cursors lead
   * past what was left out: to find it later, read this page again from the cursor that led to it. Absent if there are none.
   */
  readonly missingShards?: readonly string[]
  /**
   * Entities that were left out because their bodies cannot be decoded, see `onDamaged`. The last one may stand just behind the page.
   * Absent if there are none.
   */
  readonly damaged?: readonly EntityId[]
  /**
   * Time, by this machine's clock, up to which the page includes every acknowledged write. An entity that has matched since then is
   * found. Absent if only primaries were read; then the page includes every write acknowledged before the call.
   */
  readonly asOf?: Date
  /**
   * The older generation of the index that answered while the newest one is filled. The page is in the order of the older generation.
   * Its cursors become `BAD_CURSOR` once the newest generation is ready.
   */
  readonly olderGeneration?: number
}>
