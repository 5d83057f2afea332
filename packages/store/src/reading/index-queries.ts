import {
  elapsedBy,
  isOutage,
  type LooseleafError,
  type CatalogEntry,
  type EntityId,
  type IndexDefinitionData,
  type ReplicaReadOptions,
} from '@looseleaf/core'
import {
  forEachMatch,
  hideExpiredOfAny,
  isStandIn,
  MAX_PAGE_BYTES,
  planIntersection,
  runQuery,
  tableSpec,
  toEntity,
  type ByteBudget,
  type EngineContext,
  type GetAllOptions,
  type IndexedEntity,
  type IntersectionPlan,
  type QueryOptions,
  type QueryPage,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
  type ServingEntry,
} from '@looseleaf/index-engine'
import { createAge, tookTooLong } from '../catalog/age.ts'
import { createCatalogWatch } from '../catalog/catalog-watch.ts'
import {
  createCoveringReads,
  notCovering,
  readParts,
  type CoveringReads,
  type ListOptions,
  type ListPage,
} from './covering-reads.ts'
import { damagedTeller } from './damaged-teller.ts'
import { explainQuery, type ExplainOptions, type QueryExplanation } from './explain.ts'
import type { ReadOptions } from './entity-reader.ts'
import { readIds, type IdPage, type QueryIdsOptions } from './id-reads.ts'
import type { Observing } from '../observing/observing.ts'
import {
  createCounts,
  MAX_TOGETHER,
  type CountedPage,
  type CountOptions,
  type QueryManyOptions,
  type ReadAll,
} from './counts.ts'
import { planManyOn, planOn, type QueriedIndex } from './plan-on.ts'
import { createReadyIndexes } from './ready-indexes.ts'
import type { ReadKind, ReadView, ReplicaReads } from './replica-reads.ts'

/** What the store does with an index, whatever its properties are; the face of the store adds the types. */
export interface IndexQueries {
  intersect(conditions: readonly Condition[], options: QueryOptions): Promise<QueryPage>
  query(index: IndexDefinitionData, where: object, options: QueryOptions): Promise<QueryPage>
  /** As many as `takeWheres` allows. */
  queryMany(
    index: IndexDefinitionData,
    wheres: readonly object[],
    options: QueryManyOptions,
  ): Promise<(QueryPage | CountedPage)[]>
  queryIds(index: IndexDefinitionData, where: object, options: QueryIdsOptions): Promise<IdPage>
  list(index: IndexDefinitionData, where: object, options: ListOptions): Promise<ListPage>
  all(index: IndexDefinitionData, where: object, options: GetAllOptions): Promise<IndexedEntity[]>
  count(index: IndexDefinitionData, where: object, options: CountOptions): Promise<number>
  countMany(index: IndexDefinitionData, wheres: readonly object[], options: CountOptions): Promise<number[]>
  explain(index: IndexDefinitionData, where: object, options: ExplainOptions): Promise<QueryExplanation>
}

/** An index, and what is asked of it. */
interface Condition {
  readonly index: IndexDefinitionData
  readonly where: object
}

const BY_INDEX: ReadKind = { byIndex: true }
const WHOLE: ReadKind = { byIndex: true, isWhole: true }

/** Reads that judge each entity by its bag, so that an older generation of the index may stand in for the one that they ask. */
const mayStandIn = true
const ownOnly = false

export function createIndexQueries(
  context: EngineContext,
  replicas: ReplicaReads,
  { happened }: Pick<Observing, 'happened'>,
): IndexQueries {
  const { driver, router, time } = context
  const now = elapsedBy(time)
  const watch = createCatalogWatch(context)
  const ready = createReadyIndexes(context)

  /** As of `ReadyIndexes`, on the servers that the options ask for. */
  const onIndexes = <T>(
    call: string,
    definitions: readonly IndexDefinitionData[],
    options: ReplicaReadOptions,
    standsIn: boolean,
    work: (view: ReadView, entries: readonly ServingEntry[]) => Promise<T>,
    kind: ReadKind = BY_INDEX,
  ): Promise<T> =>
    ready.onIndexes(definitions, standsIn, (entries) =>
      replicas.read(call, options, (view) => work(view, entries), kind),
    )
  const onIndex = <T>(
    call: string,
    definition: IndexDefinitionData,
    options: ReplicaReadOptions,
    standsIn: boolean,
    work: (view: ReadView, entry: ServingEntry) => Promise<T>,
    kind?: ReadKind,
  ): Promise<T> =>
    onIndexes(call, [definition], options, standsIn, (view, [entry]) => work(view, entry!), kind)

  const atNow = (definition: IndexDefinitionData): QueriedIndex => ({ definition, now: time.now() })

  /** Entities on any shard may have rows pending; a shard that does not answer may have them too. */
  async function hasPending(entries: readonly CatalogEntry[]): Promise<boolean> {
    const tables = [...new Set(entries.map(({ table }) => table))]
    const answers = await Promise.allSettled(
      driver.shards.flatMap((_, shard) =>
        tables.map((table) => replicas.primary.lanes(shard).pending.submit(table)),
      ),
    )
    return answers.some((answer) => answer.status === 'rejected' || answer.value)
  }

  /** Where a primary is out of reach, replicas do without: they are read only where nothing can be pending. */
  const mayBePending = (
    view: ReadView,
    plans: readonly { readonly shards: readonly number[] }[],
  ): Promise<boolean> =>
    watch.mayBePending(plans[0]?.shards[0] ?? 0).catch((error: unknown) => {
      const areReplicas = plans.every(({ shards }) => shards.every((shard) => view.isReplica(shard)))
      if (areReplicas && isOutage(error)) return false
      throw error
    })

  /** Whether rows of what has moved may be gone: what knows only what was a while ago has begun then. */
  function createViewAge(view: ReadView, queryTimeMs: number): () => boolean {
    const isOld = createAge(time, queryTimeMs)
    return () => isOld() || now() - (view.asOf() ?? Infinity) >= queryTimeMs
  }

  const portsOf = (
    { lanes, reader }: ReadView,
    entries: readonly CatalogEntry[],
    tellDamaged: ReadOptions['tellDamaged'],
  ): QueryPorts => ({
    scan: (shard, scan, signal, index) =>
      lanes(shard).index(tableSpec(entries[index]!)).scan.submit(scan, signal),
    read: (rows, signal, take) =>
      reader.each(
        rows.map(({ entityId }) => entityId),
        { signal, tellDamaged },
        take,
      ),
  })

  /** Pages that are read at the same time. */
  async function readPages(
    view: ReadView,
    entries: readonly ServingEntry[],
    plans: readonly (QueryPlan | IntersectionPlan)[],
    options: QueryOptions,
    budget: ByteBudget = { left: MAX_PAGE_BYTES },
    readBy: (ports: QueryPorts) => QueryPorts = (ports) => ports,
  ): Promise<QueryPage[]> {
    // Before the rows are read: what is no longer pending by then has its rows.
    const isIndexed = !(await mayBePending(view, plans)) || !(await hasPending(entries))
    const isTooLong = createViewAge(view, context.catalog.current().queryTimeMs)
    const isWhole = (): boolean => isIndexed && !isTooLong()
    return Promise.all(plans.map((plan) => readPage(view, entries, plan, options, budget, readBy, isWhole)))
  }

  /** `isWhole`: whether nothing that was committed was missing from the index rows. */
  async function readPage(
    view: ReadView,
    entries: readonly ServingEntry[],
    plan: QueryPlan | IntersectionPlan,
    { onDamaged, cursor, signal }: QueryOptions,
    budget: ByteBudget,
    readBy: (ports: QueryPorts) => QueryPorts,
    isWhole: () => boolean,
  ): Promise<QueryPage> {
    const tell = damagedTeller(onDamaged, view)
    const damaged = new Set<EntityId>()
    const tellDamaged =
      tell &&
      ((error: LooseleafError): void => {
        if (error.entity !== undefined) damaged.add(error.entity)
        tell(error)
      })
    const page = await runQuery(readBy(portsOf(view, entries, tellDamaged)), plan, { cursor, signal, budget })
    const { rowsDiscarded } = page.cost
    if (rowsDiscarded > 0) happened({ kind: 'discarded', index: entries[0]!.name, rows: rowsDiscarded })
    const complete = page.cost.complete && isWhole()
    const asOf = view.asOf()
    const [{ standsFor, generation }] = entries as [ServingEntry]
    if (
      complete === page.cost.complete &&
      damaged.size === 0 &&
      asOf === undefined &&
      standsFor === undefined
    )
      return page
    const cost = {
      ...page.cost,
      complete,
      ...(standsFor !== undefined && { olderGeneration: generation }),
      ...(damaged.size > 0 && { damaged: [...damaged] }),
      ...(asOf !== undefined && { asOf: new Date(time.now() - Math.ceil(now() - asOf)) }),
    }
    return { ...page, cost }
  }

  /** Throws `DEADLINE` when it took so long that an entity that moved meanwhile may be missing. */
  async function readAll(
    view: ReadView,
    entry: CatalogEntry,
    plan: QueryPlan,
    { signal, onDamaged, likelyRows }: Parameters<ReadAll>[3],
    onMatch: (entity: ReadEntity) => void,
    readBy: (read: QueryPorts['read']) => QueryPorts['read'] = (read) => read,
  ): Promise<void> {
    const { queryTimeMs } = context.catalog.current()
    const isTooLong = createViewAge(view, queryTimeMs)
    const checkTime = (): void => {
      if (isTooLong()) throw tookTooLong(entry.name, queryTimeMs)
    }
    const ports = portsOf(view, [entry], damagedTeller(onDamaged, view))
    const scan: QueryPorts['scan'] = (...asked) => {
      checkTime()
      return ports.scan(...asked)
    }
    await forEachMatch({ scan, read: readBy(ports.read) }, plan, { signal, likelyRows }, onMatch)
    checkTime()
  }

  const { countAll, withCounts } = createCounts(context, mayBePending, readAll)

  return {
    query: (definition, where, options) =>
      onIndex('query', definition, options, mayStandIn, async (view, entry) => {
        const [page] = await readPages(
          view,
          [entry],
          [planOn(router, entry, where, options, atNow(definition))],
          options,
        )
        return page!
      }),
    intersect: (conditions, options) =>
      onIndexes(
        'intersect',
        conditions.map(({ index }) => index),
        options,
        ownOnly,
        async (view, entries) => {
          const planned = conditions.map(({ where }, i) => ({ index: entries[i]!, where }))
          const plan = hideExpiredOfAny(
            planIntersection(planned, options, router),
            conditions.map(({ index }) => index.expires),
            time.now(),
          )
          const [page] = await readPages(view, entries, [plan], options)
          return page!
        },
      ),
    queryMany: (definition, wheres, options) =>
      onIndex('queryMany', definition, options, mayStandIn, async (view, entry) => {
        const plans = planManyOn(router, entry, wheres, options, atNow(definition))
        const budget = { left: MAX_PAGE_BYTES }
        const pages: (QueryPage | CountedPage)[] = []
        while (pages.length < plans.length) {
          const next = plans.slice(pages.length, pages.length + MAX_TOGETHER)
          const found = await readPages(view, [entry], next, options, budget)
          pages.push(...(options.count ? await withCounts(view, entry, next, found, options) : found))
        }
        return pages
      }),
    queryIds: (definition, where, options) =>
      onIndex('queryIds', definition, options, ownOnly, async (view, entry) => {
        const plan = planOn(router, entry, where, options, atNow(definition))
        const [page] = await readPages(view, [entry], [plan], options, undefined, ({ scan }) => ({
          scan,
          read: readIds,
        }))
        const items = page!.items.map(({ id }) => ({ id }))
        return { ...page!, items, cost: { ...page!.cost, entityReads: 0, entitiesRead: 0 } }
      }),
    list: (definition, where, { verify = true, ...options }) =>
      onIndex('list', definition, options, mayStandIn, async (view, entry) => {
        const listed = entry.standsFor ?? entry
        if (listed.include === undefined) throw notCovering(entry)
        const plan = planOn(router, entry, where, options, atNow(definition))
        if (isStandIn(entry)) {
          const readBy = ({ scan, read }: QueryPorts): QueryPorts => ({ scan, read: readParts(listed, read) })
          const [page] = await readPages(view, [entry], [plan], options, undefined, readBy)
          return { ...page!, verified: true, cost: { ...page!.cost, entitiesCovered: 0 } }
        }
        let own: Omit<CoveringReads, 'ports'> = { covered: () => 0, wholeReads: () => 0 }
        const [page] = await readPages(view, [entry], [plan], options, undefined, ({ read }) => {
          const { ports, ...counts } = createCoveringReads(context, view.lanes, { entry, plan, verify }, read)
          own = counts
          return ports
        })
        const entitiesCovered = own.covered()
        const { cost } = page!
        // Rows that are believed ask no entity.
        const asked = verify
          ? {}
          : { entityReads: own.wholeReads(), entitiesRead: cost.entitiesRead - entitiesCovered }
        return { ...page!, verified: verify, cost: { ...cost, ...asked, entitiesCovered } }
      }),
    all: (definition, where, options) =>
      onIndex(
        'getAll',
        definition,
        options,
        mayStandIn,
        async (view, entry) => {
          const plan = planOn(router, entry, where, options, atNow(definition))
          await mayBePending(view, [plan])
          const entities: IndexedEntity[] = []
          await readAll(view, entry, plan, options, (entity) => {
            // It matches, so it has the indexed properties.
            entities.push(toEntity(entity) as IndexedEntity)
          })
          return entities
        },
        WHOLE,
      ),
    count: (definition, where, options) =>
      onIndex(
        'count',
        definition,
        options,
        mayStandIn,
        async (view, entry) => {
          const [count] = await countAll(
            view,
            entry,
            [planOn(router, entry, where, options, atNow(definition))],
            options,
          )
          return count!
        },
        WHOLE,
      ),
    countMany: (definition, wheres, options) =>
      onIndex(
        'countMany',
        definition,
        options,
        mayStandIn,
        (view, entry) =>
          countAll(view, entry, planManyOn(router, entry, wheres, options, atNow(definition)), options),
        WHOLE,
      ),
    explain: (definition, where, options) =>
      onIndex('explain', definition, {}, mayStandIn, (_, entry) =>
        explainQuery(driver, entry, planOn(router, entry, where, options, atNow(definition)), options),
      ),
  }
}
