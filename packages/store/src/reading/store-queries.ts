import { checkOptions, withCallbacks } from '@looseleaf/core'
import {
  requireDefinition,
  type EngineContext,
  type GetAllOptions,
  type IndexConditions,
  type IndexDefinition,
  type IndexedEntity,
  type IndexProperties,
  type IntersectionPage,
  type QueryOptions,
  type QueryPage,
  type Where,
} from '@looseleaf/index-engine'
import { optionsOf } from '../call-options.ts'
import { takeConditions } from '../calls/take-conditions.ts'
import { takeWheres } from '../calls/take-wheres.ts'
import { StoreManagement } from '../catalog/store-management.ts'
import type { Observing } from '../observing/observing.ts'
import type { CountedPage, CountOptions, QueryManyOptions } from './counts.ts'
import type { ListOptions, ListPage } from './covering-reads.ts'
import type { ExplainOptions, QueryExplanation } from './explain.ts'
import type { IdPage, QueryIdsOptions } from './id-reads.ts'
import { isKnownReady } from './ready-indexes.ts'
import type { ReplicaReads } from './replica-reads.ts'
import { createIndexQueries, type IndexQueries } from './index-queries.ts'

/** The calls that find entities by an index; `DataStore` adds those by id. */
export abstract class StoreQueries extends StoreManagement {
  readonly #queries: IndexQueries

  protected constructor(context: EngineContext, replicas: ReplicaReads, observing: Observing) {
    super(context, observing)
    this.#queries = createIndexQueries(context, replicas, observing)
  }

  /**
   * Whether an index can be queried, as far as this process knows: it asks no database, and learns of what others do within
   * seconds. For what a program can do without while an index is added or dropped; a query may find that it has just gone.
   */
  isReady<const P extends IndexProperties>(index: IndexDefinition<P>): boolean {
    requireDefinition('isReady', index)
    return isKnownReady(this.context, index)
  }

  /**
   * A page of the entities that match, in the order of the index. What was committed before the call is found; what
   * does not match is never returned. `cursor`, when there is one, leads to the next page, and `previous` to the one before.
   */
  async query<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: QueryOptions = {},
  ): Promise<QueryPage<P>> {
    checkOptions('query', options, optionsOf.query)
    requireDefinition('query', index)
    // Every item matched a row of the index, so it has the indexed properties.
    return this.calls.pass(
      'query',
      () => withCallbacks(options, (taken) => this.#queries.query(index, where, taken)),
      index.name,
    ) as unknown as Promise<QueryPage<P>>
  }

  /**
   * The first page of each of many conditions on one index, 1,000 at the most, in their order: what `query` gives for each, in
   * a statement or two a shard where each has its own otherwise. With `count: true` each has `count`, what `store.count` gives.
   * A `cursor` leads on with `query`. The pages share the bytes of one: see `cost.complete`.
   */
  async queryMany<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    wheres: readonly Where<P>[],
    options: QueryManyOptions & { readonly count: true },
  ): Promise<CountedPage<P>[]>
  async queryMany<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    wheres: readonly Where<P>[],
    options?: QueryManyOptions,
  ): Promise<QueryPage<P>[]>
  async queryMany<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    wheres: readonly Where<P>[],
    options: QueryManyOptions = {},
  ): Promise<QueryPage<P>[]> {
    checkOptions('queryMany', options, optionsOf.queryMany)
    requireDefinition('queryMany', index)
    const taken = takeWheres('queryMany', wheres)
    return this.calls.pass(
      'queryMany',
      () => withCallbacks(options, (checked) => this.#queries.queryMany(index, taken, checked)),
      index.name,
    ) as unknown as Promise<QueryPage<P>[]>
  }

  /**
   * A page of ids, drawn from index rows alone: no entity is read, and so nothing is checked. What was committed before the
   * call and matches is found, as by `query`. Beside it there may be the ids of entities that no longer match or were deleted, until their rows
   * are gone, some seconds later, and of writes that died, until the cleaner has passed. A page has an id once; where an entity has
   * several rows, another page may have it too. For who reads the entities anyway, or can do with a few too many.
   */
  async queryIds<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: QueryIdsOptions = {},
  ): Promise<IdPage> {
    checkOptions('queryIds', options, optionsOf.queryIds)
    requireDefinition('queryIds', index)
    return this.calls.pass('queryIds', () => this.#queries.queryIds(index, where, options), index.name)
  }

  /**
   * A page of the entities that match several conditions at once, of different indexes or of one index several times, such as
   * two tags. Each gives values for the first properties of its index; behind these all have to have the same properties, which
   * is the order of the page; a range on the first of them goes for all. Rows are read where all indexes may have some in
   * common, not all rows of each. For the rest as `query`: with its options, its promises and its errors.
   */
  async intersect<const Ps extends readonly IndexProperties[]>(
    conditions: IndexConditions<Ps>,
    options: QueryOptions = {},
  ): Promise<IntersectionPage<Ps>> {
    checkOptions('intersect', options, optionsOf.query)
    const taken = takeConditions(conditions)
    // Every item matched a row of each index, so it has all of the indexed properties.
    return this.calls.pass('intersect', () =>
      withCallbacks(options, (checked) => this.#queries.intersect(taken, checked)),
    ) as unknown as Promise<IntersectionPage<Ps>>
  }

  /**
   * A page of a list that is drawn from the rows of an index with `include`: as `query`, with items that have the properties of
   * the index, of its `on`, and those that it includes, and no others; `metaOf` knows nothing of them. Each is checked by the
   * version of its entity, which costs a small look-up, unless `verify` is false. Throws `BAD_QUERY` for an index that includes
   * nothing.
   */
  async list<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: ListOptions = {},
  ): Promise<ListPage<P>> {
    checkOptions('list', options, optionsOf.list)
    requireDefinition('list', index)
    return this.calls.pass(
      'list',
      () => withCallbacks(options, (taken) => this.#queries.list(index, where, taken)),
      index.name,
    ) as unknown as Promise<ListPage<P>>
  }

  /**
   * Every entity that matches, page after page. For results that are known to be small: rejects with `DEADLINE` when it takes
   * longer than `queryTimeMs`, 5 seconds by default, for then it may have missed an entity that moved meanwhile. Where rows may
   * be pending, see `onIndexFailure`, it is `query` that says so.
   */
  async getAll<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: GetAllOptions = {},
  ): Promise<IndexedEntity<P>[]> {
    checkOptions('getAll', options, optionsOf.getAll)
    requireDefinition('getAll', index)
    return this.calls.pass(
      'getAll',
      () => withCallbacks(options, (taken) => this.#queries.all(index, where, taken)),
      index.name,
    ) as unknown as Promise<IndexedEntity<P>[]>
  }

  /**
   * Returns how many entities match. A number up to 1,000 is exact, unless the look at the entities takes longer than `queryTimeMs`. A
   * greater one counts index rows, and may be too high for some seconds after writes, or until a cleaner has removed what writes that died have
   * left. `exact: true` reads all entities that match, however many, and rejects with `DEADLINE` as `getAll` does; `exact: false` counts rows in any
   * case.
   */
  async count<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: CountOptions = {},
  ): Promise<number> {
    checkOptions('count', options, optionsOf.count)
    requireDefinition('count', index)
    return this.calls.pass(
      'count',
      () => withCallbacks(options, (taken) => this.#queries.count(index, where, taken)),
      index.name,
    )
  }

  /**
   * Returns how many entities match each of many conditions on one index, 1,000 at the most, in their order: what `count` gives for each. Rows
   * are counted in a statement a shard; conditions with up to 1,000 rows share the statements that look at their entities. Conditions whose
   * entities all have to be read, as with `exact: true`, are read one after the other.
   */
  async countMany<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    wheres: readonly Where<P>[],
    options: CountOptions = {},
  ): Promise<number[]> {
    checkOptions('countMany', options, optionsOf.count)
    requireDefinition('countMany', index)
    const taken = takeWheres('countMany', wheres)
    return this.calls.pass(
      'countMany',
      () => withCallbacks(options, (checked) => this.#queries.countMany(index, taken, checked)),
      index.name,
    )
  }

  /**
   * What `query` would do with the same arguments: which index and shards it would ask, for how many ranges, and about how many
   * rows are there. Reads up to 1,001 index rows from each shard, and no entities. Throws what `query` throws.
   */
  async explain<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: ExplainOptions = {},
  ): Promise<QueryExplanation> {
    checkOptions('explain', options, optionsOf.explain)
    requireDefinition('explain', index)
    return this.calls.pass('explain', () => this.#queries.explain(index, where, options), index.name)
  }
}
