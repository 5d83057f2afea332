import { checkOptions } from '@looseleaf/core/internal'
import type {
  IndexDefinition,
  IndexedEntity,
  IndexProperties,
  IntersectionPage,
  QueryOptions,
  QueryPage,
  Where,
} from '@looseleaf/index-engine'
import {
  requireDefinition,
  type EngineContext,
  type GetAllOptions,
  type OnUnavailable,
  type IndexConditions,
} from '@looseleaf/index-engine/internal'
import { optionsOf } from '../../call-options.ts'
import { takeConditions, takeWheres } from '../../calls/take-conditions.ts'
import { StoreManagement } from '../../catalog/store-management.ts'
import type { Observing } from '../../observing/observing.ts'
import type { CountedPage, CountOptions, QueryManyOptions } from './counts.ts'
import type { ListOptions, ListPage } from './list-page.ts'
import type { ExplainOptions, QueryExplanation } from '../inspection/explain.ts'
import type { IdPage, QueryIdsOptions } from './id-page.ts'
import { createReadyIndexes, isKnownReady } from '../../catalog/ready-indexes.ts'
import type { ReplicaReads } from '../freshness/replica-reads.ts'
import type { AnswerOf, PartialCount } from '../entities/partial-answer.ts'
import { createRead, type Read } from '../steps/read.ts'
import { createIndexQueries, type IndexQueries } from './index-queries.ts'

/** The calls of a store that find entities by an index. `DataStore` adds the calls by id. */
export abstract class StoreQueries extends StoreManagement {
  /** Every call that reads goes through it. */
  protected readonly read: Read
  readonly #queries: IndexQueries

  protected constructor(context: EngineContext, replicas: ReplicaReads, observing: Observing) {
    super(context, observing)
    this.read = createRead(this.calls, createReadyIndexes(context), replicas)
    this.#queries = createIndexQueries(context, this.read, replicas)
  }

  /**
   * Returns true if the index can be queried, by the catalog in memory. Asks no database, and sees changes by other processes some
   * seconds late, so that a query may still reject. Use it for features that a program can do without while an index is added or dropped.
   */
  isReady<const P extends IndexProperties>(index: IndexDefinition<P>): boolean {
    requireDefinition('isReady', index)
    return isKnownReady(this.context, index)
  }

  /**
   * Returns a page of the entities that match, in the order of the index. Every entity that was committed before the call is found, and
   * no entity is returned that does not match. `cursor` leads to the next page, and `previous` to the one before.
   */
  async query<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: QueryOptions = {},
  ): Promise<QueryPage<P>> {
    checkOptions('query', options, optionsOf.query)
    requireDefinition('query', index)
    // Every item matched a row of the index, so it has the indexed properties.
    return this.#queries.query(index, where, options) as unknown as Promise<QueryPage<P>>
  }

  /**
   * Returns the first page of each of up to 1,000 conditions on one index, in their order. Each page is that of `query`, but all pages
   * together take one or two statements per shard. With `count: true` each page has the `count` of `store.count`. Pass a `cursor` to
   * `query`. All pages share the bytes of one page: see `cost.complete`.
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
    return this.#queries.queryMany(index, taken, options) as unknown as Promise<QueryPage<P>[]>
  }

  /**
   * Returns a page of ids from index rows, without reading or checking entities. Every entity that was committed before the call and
   * matches is found, as by `query`. A page may also have ids of entities that were changed or deleted in the last seconds, and of writes
   * that died, until the cleaner has passed. A page has an id once. If an entity has several rows, another page may have its id too.
   * A bound of more than 512 bytes also gives the ids of strings with the same first 512 bytes, which rows cannot tell apart.
   */
  async queryIds<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: QueryIdsOptions = {},
  ): Promise<IdPage> {
    checkOptions('queryIds', options, optionsOf.queryIds)
    requireDefinition('queryIds', index)
    return this.#queries.queryIds(index, where, options)
  }

  /**
   * Returns a page of the entities that match several conditions, on different indexes or on one index several times, such as two tags.
   * Each condition gives values or lists for the first properties of its index. The remaining properties have to be the same for all
   * conditions and order the page; a range on the first of them applies to every condition. Unlike in a `query`, entities with different
   * values of a list come in one order, so a single condition with a list merges their ranges. All lists together have at most 100 values.
   * Reads only the parts of the indexes that may have entities in common. Options, promises and errors are those of `query`.
   */
  async intersect<const Ps extends readonly IndexProperties[]>(
    conditions: IndexConditions<Ps>,
    options: QueryOptions = {},
  ): Promise<IntersectionPage<Ps>> {
    checkOptions('intersect', options, optionsOf.query)
    const taken = takeConditions(conditions)
    // Every item matched a row of each index, so it has all of the indexed properties.
    return this.#queries.intersect(taken, options) as unknown as Promise<IntersectionPage<Ps>>
  }

  /**
   * Returns a page of items from the rows of an index with `include`. An item has the properties of the index, of its `on` and of its
   * `include`, and no others; `metaOf` does not know it. Compares each row with the version of its entity, which costs a small look-up,
   * unless `verify` is false. Throws `BAD_QUERY` if the index has no `include`.
   */
  async list<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: ListOptions = {},
  ): Promise<ListPage<P>> {
    checkOptions('list', options, optionsOf.list)
    requireDefinition('list', index)
    return this.#queries.list(index, where, options) as unknown as Promise<ListPage<P>>
  }

  /**
   * Returns every entity that matches. For results that are known to be small: rejects with `DEADLINE` after `queryTimeMs`, 5 seconds by
   * default, because it may then have missed an entity that has moved. Does not tell whether rows are pending (`onIndexFailure`); `query`
   * does.
   */
  async getAll<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: GetAllOptions = {},
  ): Promise<IndexedEntity<P>[]> {
    checkOptions('getAll', options, optionsOf.getAll)
    requireDefinition('getAll', index)
    return this.#queries.all(index, where, options) as unknown as Promise<IndexedEntity<P>[]>
  }

  /**
   * Returns how many entities match. A number up to 1,000 is exact, unless checking the entities takes longer than `queryTimeMs`. A greater
   * number counts index rows. It may be too high for some seconds after writes, while buckets move, and until a cleaner has deleted the rows
   * of writes that died. `exact: true` reads every entity that matches, and rejects with `DEADLINE` as `getAll` does. `exact: false` always counts rows.
   * With `onUnavailable: 'skip'` returns `{ count, complete, missingShards }`.
   */
  async count<const P extends IndexProperties, Handling extends OnUnavailable | undefined = undefined>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: CountOptions & { readonly onUnavailable?: Handling } = {},
  ): Promise<AnswerOf<Handling, number, PartialCount>> {
    checkOptions('count', options, optionsOf.count)
    requireDefinition('count', index)
    const count = await this.#queries.count(index, where, options)
    return count as AnswerOf<Handling, number, PartialCount>
  }

  /**
   * Returns the `count` of each of up to 1,000 conditions on one index, in their order. Counts rows in one statement per shard. Conditions
   * with up to 1,000 rows share the statements that check their entities. Conditions whose entities all have to be read, as with
   * `exact: true`, are read one after the other.
   */
  async countMany<const P extends IndexProperties, Handling extends OnUnavailable | undefined = undefined>(
    index: IndexDefinition<P>,
    wheres: readonly Where<P>[],
    options: CountOptions & { readonly onUnavailable?: Handling } = {},
  ): Promise<AnswerOf<Handling, number, PartialCount>[]> {
    checkOptions('countMany', options, optionsOf.count)
    requireDefinition('countMany', index)
    const taken = takeWheres('countMany', wheres)
    const counts = await this.#queries.countMany(index, taken, options)
    return counts as AnswerOf<Handling, number, PartialCount>[]
  }

  /**
   * Explains `query` with the same arguments: the index, the shards and the number of ranges that it would read, and about how many rows
   * they have. Counts about 1,000 index rows, and reads no entities. Throws the errors of `query`.
   */
  async explain<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options: ExplainOptions = {},
  ): Promise<QueryExplanation> {
    checkOptions('explain', options, optionsOf.explain)
    requireDefinition('explain', index)
    return this.#queries.explain(index, where, options)
  }
}
