import type { Bag, Entity, EntityId, LooseleafError, ReplicaReadOptions } from '@looseleaf/core'
import type { IndexDefinition } from './define-index.ts'
import type { IndexedBag, IndexedEntity, IndexProperties, Where } from './property-types.ts'

/** The order of an index as its properties have it, or all of it turned round. */
export type QueryOrder = 'asc' | 'desc'

/** Entities that a query gives at once when no limit is asked for. */
export const DEFAULT_LIMIT = 50
/** The greatest limit of a query. */
export const MAX_LIMIT = 1000

/**
 * What becomes of a call that meets an entity whose body cannot be decoded (`BODY_DAMAGED`, `BODY_UNKNOWN`,
 * `BODY_TOO_LARGE`). `fail`: it throws that error, which has the entity's id. `skip`: the entity is left out. A function: it is
 * left out, and the function gets the error; what it throws, or rejects with if it is async, the call fails with.
 * `looseleaf damaged` finds all such entities.
 */
export type OnDamaged = 'fail' | 'skip' | ((error: LooseleafError) => void)

export interface GetAllOptions extends ReplicaReadOptions {
  /** 'asc' (default): in the index's order. 'desc': the other way round. */
  readonly order?: QueryOrder | undefined
  /** Asks all shards; needed where `where` does not say which one has the rows. */
  readonly scatter?: boolean | undefined
  /** Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
  readonly signal?: AbortSignal | undefined
}

export interface QueryOptions extends GetAllOptions {
  /** Entities of a page, 1 to 1,000; 50 by default. It may change from page to page. */
  readonly limit?: number | undefined
  /** The `cursor` or the `previous` of another page of the same index, `where` and order. */
  readonly cursor?: string | undefined
}

export interface QueryPage<P extends IndexProperties = IndexProperties> {
  readonly items: readonly IndexedEntity<P>[]
  /**
   * Leads to the next page. On a page that was reached from the front: there exactly when another entity follows, or the call
   * reached a bound. On one that was reached by `previous`: always there, and leads to what followed it then.
   */
  readonly cursor?: string
  /**
   * Leads to the page before: the entities that stand directly before this one's first, in the same order. Not there without
   * a `cursor` among the options; always there on a page that was reached by one from the front; on a page that was itself
   * reached by a `previous`, there exactly when another entity stands before, or the call reached a bound.
   */
  readonly previous?: string
  readonly cost: QueryCost
}

/** One condition of an intersection: an index, and what is asked of it. */
export interface IndexCondition<P extends IndexProperties = IndexProperties> {
  readonly index: IndexDefinition<P>
  /** Values for its first properties, and at most one range on the next. */
  readonly where: Where<NoInfer<P>>
}

/** The conditions of an intersection on indexes with these properties. */
export type IndexConditions<Ps extends readonly IndexProperties[]> = {
  readonly [K in keyof Ps]: IndexCondition<Ps[K]>
}

/** The bag of an entity that an intersection gave: what each of its indexes says of it. */
export type IntersectedBag<Ps extends readonly IndexProperties[]> = Ps extends readonly [
  infer P extends IndexProperties,
  ...infer Others extends readonly IndexProperties[],
]
  ? IndexedBag<P> & IntersectedBag<Others>
  : Bag

/** A page of an intersection: as one of a query. */
export interface IntersectionPage<Ps extends readonly IndexProperties[]> extends Omit<QueryPage, 'items'> {
  readonly items: readonly Entity<IntersectedBag<Ps>>[]
}

/** What a page took. Always `rowsExamined = rowsMatched + rowsDiscarded`. */
export interface QueryCost {
  /** Shards whose index rows were asked for. */
  readonly shards: number
  /** Scans of index rows, over all shards. */
  readonly indexReads: number
  /** Index rows that the scans gave. */
  readonly rowsRead: number
  /** Look-ups of entities, each of many. */
  readonly entityReads: number
  /** Index rows that were held against their entity. */
  readonly rowsExamined: number
  /** Rows that gave an entity of this page. */
  readonly rowsMatched: number
  /** Rows whose entity is gone, no longer matches, or belongs to another row: leftovers and repeats. */
  readonly rowsDiscarded: number
  /** Entities asked for, each once. */
  readonly entitiesRead: number
  /**
   * False when the page may lack an entity that matches. Either the call reached a bound, on work or on bytes, with the page
   * not full: go on with the cursor. Or, as `query` of the store says it: index rows are pending (`onIndexFailure: 'defer'`),
   * or the call took longer than the store's `queryTimeMs`, so that it may have missed an entity that moved meanwhile.
   */
  readonly complete: boolean
  /**
   * Entities that were met and left out because their bodies cannot be decoded, see `onDamaged`; one may stand just behind
   * the page. Not there when there were none.
   */
  readonly damaged?: readonly EntityId[]
  /**
   * The moment, by this machine's clock, up to which the page knows everything that was acknowledged: what has matched from then until
   * the call is found. Not there where primaries alone were read, which know everything up to the call.
   */
  readonly asOf?: Date
  /**
   * Generation of the index that answered in place of a newer one, which is still being filled. The page has the entities that match, in the
   * order of that generation. Its cursors are `BAD_CURSOR` once the newer one is ready.
   */
  readonly olderGeneration?: number
}

/** What can read all entities by an index; every `DataStore` can. */
export interface IndexReader {
  /** Every entity that matches, in key order; rejects where it cannot be certain of that. */
  getAll<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options?: GetAllOptions,
  ): Promise<IndexedEntity<P>[]>
}
