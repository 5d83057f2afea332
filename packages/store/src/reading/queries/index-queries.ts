import type { IndexDefinitionData } from '@looseleaf/core'
import type { IndexedEntity, QueryOptions, QueryPage } from '@looseleaf/index-engine'
import {
  MAX_PAGE_BYTES,
  toEntity,
  type EngineContext,
  type GetAllOptions,
  type IntersectionPlan,
  type QueryPlan,
} from '@looseleaf/index-engine/internal'
import type { ReplicaReads } from '../freshness/replica-reads.ts'
import { explainQuery, type ExplainOptions, type QueryExplanation } from '../inspection/explain.ts'
import { idReader } from '../rows/id-reader.ts'
import { createCompleteness } from '../steps/completeness.ts'
import type { Read, ReadCall, ReadCallOptions, Sources } from '../steps/read.ts'
import {
  createCounts,
  MAX_TOGETHER,
  type CountedPage,
  type CountOptions,
  type QueryManyOptions,
} from './counts.ts'
import type { IdPage, QueryIdsOptions } from './id-page.ts'
import { listOf, type ListOptions, type ListPage } from './list-page.ts'
import type { PartialCount } from '../entities/partial-answer.ts'
import { createPlanner, type Condition } from './planner.ts'
import { createProtectedReads } from './protected-reads.ts'
import { createReadAll } from './read-all.ts'
import { createReadPages, type PagesToRead } from './read-pages.ts'

/** The calls of the store that read an index, without the types of its properties, which `StoreQueries` adds. */
export interface IndexQueries {
  intersect(conditions: readonly Condition[], options: QueryOptions): Promise<QueryPage>
  query(index: IndexDefinitionData, where: object, options: QueryOptions): Promise<QueryPage>
  /** Takes as many conditions as `takeWheres` allows. */
  queryMany(
    index: IndexDefinitionData,
    wheres: readonly object[],
    options: QueryManyOptions,
  ): Promise<(QueryPage | CountedPage)[]>
  queryIds(index: IndexDefinitionData, where: object, options: QueryIdsOptions): Promise<IdPage>
  list(index: IndexDefinitionData, where: object, options: ListOptions): Promise<ListPage>
  all(index: IndexDefinitionData, where: object, options: GetAllOptions): Promise<IndexedEntity[]>
  count(index: IndexDefinitionData, where: object, options: CountOptions): Promise<number | PartialCount>
  countMany(
    index: IndexDefinitionData,
    wheres: readonly object[],
    options: CountOptions,
  ): Promise<(number | PartialCount)[]>
  explain(index: IndexDefinitionData, where: object, options: ExplainOptions): Promise<QueryExplanation>
}

/** Makes the calls. Each says which indexes it reads and how; `read` and `readPages` have the steps that all of them go through. */
export function createIndexQueries(
  context: EngineContext,
  read: Read,
  replicas: Pick<ReplicaReads, 'primary' | 'looks'>,
): IndexQueries {
  const plan = createPlanner(context)
  const completeness = createCompleteness(context, replicas)
  const protectedReads = createProtectedReads(context)
  const readPages = createReadPages(context, completeness, protectedReads)
  const readAll = createReadAll(context, completeness, protectedReads)
  const { countAll, withCounts } = createCounts(completeness, readAll, protectedReads)

  async function readPage(
    sources: Sources,
    planned: QueryPlan | IntersectionPlan,
    more: Omit<PagesToRead, 'plans'>,
  ): Promise<QueryPage> {
    const [page] = await readPages(sources, { plans: [planned], ...more })
    return page!
  }

  /** Reads one index. An older generation may serve while the newest is filled, unless the call says otherwise. */
  const onIndex = <Options extends ReadCallOptions, Result>(
    name: string,
    index: IndexDefinitionData,
    how: Pick<ReadCall<Options, Result>, 'options' | 'mayStandIn' | 'isWhole'>,
    run: ReadCall<Options, Result>['run'],
  ): Promise<Result> => read({ name, indexes: [index], mayStandIn: true, ...how, run })

  return {
    query: (index, where, options) =>
      onIndex('query', index, { options }, (sources, taken) =>
        readPage(sources, plan.one(sources, index, where, taken), { options: taken }),
      ),
    intersect: (conditions, options) =>
      read({
        name: 'intersect',
        options,
        indexes: conditions.map(({ index }) => index),
        run: (sources, taken) =>
          readPage(sources, plan.intersection(sources, conditions, taken), { options: taken }),
      }),
    queryMany: (index, wheres, options) =>
      onIndex('queryMany', index, { options }, async (sources, taken) => {
        const plans = plan.many(sources, index, wheres, taken)
        const budget = { left: MAX_PAGE_BYTES }
        const pages: (QueryPage | CountedPage)[] = []
        while (pages.length < plans.length) {
          const batch = plans.slice(pages.length, pages.length + MAX_TOGETHER)
          const found = await readPages(sources, { plans: batch, options: taken, budget })
          pages.push(...(taken.count ? await withCounts(sources, batch, found, taken) : found))
        }
        return pages
      }),
    queryIds: (index, where, options) =>
      onIndex('queryIds', index, { options, mayStandIn: false }, (sources, taken) =>
        readPage(sources, plan.one(sources, index, where, taken), { options: taken, rows: idReader }),
      ),
    list: (index, where, options) =>
      onIndex('list', index, { options }, async (sources, { verify = true, ...taken }) => {
        const { view, entries } = sources
        const { rows, isVerified } = listOf(context, view, entries[0]!, verify)
        const planned = plan.one(sources, index, where, taken)
        const page = await readPage(sources, planned, { options: taken, rows: rows(planned) })
        return { ...(page as ListPage), verified: isVerified }
      }),
    all: (index, where, options) =>
      onIndex('getAll', index, { options, isWhole: true }, async (sources, taken) => {
        const planned = plan.one(sources, index, where, taken)
        const entities: IndexedEntity[] = []
        await readAll(sources, { plan: planned, options: taken }, (entity) => {
          // An entity that matches has the indexed properties.
          entities.push(toEntity(entity) as IndexedEntity)
        })
        return entities
      }),
    count: (index, where, options) =>
      onIndex('count', index, { options, isWhole: true }, async (sources, taken) => {
        const [count] = await countAll(sources, [plan.one(sources, index, where, taken)], taken)
        return count!
      }),
    countMany: (index, wheres, options) =>
      onIndex('countMany', index, { options, isWhole: true }, (sources, taken) =>
        countAll(sources, plan.many(sources, index, wheres, taken), taken),
      ),
    explain: (index, where, options) =>
      onIndex('explain', index, { options }, (sources, taken) =>
        explainQuery(context.driver, sources.entries[0]!, plan.one(sources, index, where, taken), taken),
      ),
  }
}
