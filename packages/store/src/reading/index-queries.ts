import type {
  LooseleafError,
  CatalogEntry,
  EntityId,
  IndexDefinitionData,
  ReplicaReadOptions,
} from '@looseleaf/core'
import { elapsedBy, isOutage } from '@looseleaf/core/internal'
import type { GetAllOptions, IndexedEntity, QueryOptions, QueryPage } from '@looseleaf/index-engine'
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
  type IntersectionPlan,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
  type ServingEntry,
} from '@looseleaf/index-engine/internal'
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
import { damagedHandler } from './damaged-handler.ts'
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
  count(index: IndexDefinitionData, where: object, options: CountOptions): Promise<number>
  countMany(index: IndexDefinitionData, wheres: readonly object[], options: CountOptions): Promise<number[]>
  explain(index: IndexDefinitionData, where: object, options: ExplainOptions): Promise<QueryExplanation>
}

/** One condition of an intersection. */
interface Condition {
  readonly index: IndexDefinitionData
  readonly where: object
}

/** Makes the ports of a page from the usual ones, which read whole entities. */
type RowReader = (ports: QueryPorts) => QueryPorts

const wholeEntities: RowReader = (ports) => ports
const idsOnly: RowReader = ({ scan }) => ({ scan, read: readIds })

const BY_INDEX: ReadKind = { byIndex: true }
const WHOLE: ReadKind = { byIndex: true, isWhole: true }

/** For reads that judge each entity by its bag: an older generation of the index may stand in for the queried one. */
const mayStandIn = true
const noStandIn = false

export function createIndexQueries(
  context: EngineContext,
  replicas: ReplicaReads,
  { happened }: Pick<Observing, 'happened'>,
): IndexQueries {
  const { driver, catalog, time } = context
  const now = elapsedBy(time)
  const watch = createCatalogWatch(context)
  const ready = createReadyIndexes(context)

  /** Does `ReadyIndexes.onIndexes` on the servers that the options choose. */
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

  /** Returns true if any shard has pending rows of these indexes, or does not answer. */
  async function hasPending(entries: readonly CatalogEntry[]): Promise<boolean> {
    const tables = [...new Set(entries.map(({ table }) => table))]
    const answers = await Promise.allSettled(
      driver.shards.flatMap((_, shard) =>
        tables.map((table) => replicas.primary.lanes(shard).pending.submit(table)),
      ),
    )
    return answers.some((answer) => answer.status === 'rejected' || answer.value)
  }

  /** Asks the catalog watch. Ignores a primary that is down if all reads go to replicas, which serve only while no rows may be deferred. */
  const mayBePending = (
    view: ReadView,
    plans: readonly { readonly shards: readonly number[] }[],
  ): Promise<boolean> =>
    watch.mayBePending(plans[0]?.shards[0] ?? 0).catch((error: unknown) => {
      const areReplicas = plans.every(({ shards }) => shards.every((shard) => view.isReplica(shard)))
      if (areReplicas && isOutage(error)) return false
      throw error
    })

  /** Returns a check whether lost rows may be deleted by now. For a view of replicas the time counts from the state that they have. */
  function createViewAge(view: ReadView, queryTimeMs: number): () => boolean {
    const isOld = createAge(time, queryTimeMs)
    return () => isOld() || now() - (view.asOf() ?? Infinity) >= queryTimeMs
  }

  const portsOf = (
    { lanes, reader }: ReadView,
    entries: readonly CatalogEntry[],
    handleDamaged: ReadOptions['handleDamaged'],
  ): QueryPorts => ({
    scan: (shard, scan, signal, index) =>
      lanes(shard).index(tableSpec(entries[index]!)).scan.submit(scan, signal),
    read: (rows, signal, take) =>
      reader.each(
        rows.map(({ entityId }) => entityId),
        { signal, handleDamaged },
        take,
      ),
  })

  /** Reads the pages of several plans concurrently, with one budget of bytes. `readRows` replaces the usual reading of entities. */
  async function readPages(
    view: ReadView,
    entries: readonly ServingEntry[],
    plans: readonly (QueryPlan | IntersectionPlan)[],
    options: QueryOptions,
    budget: ByteBudget = { left: MAX_PAGE_BYTES },
    readRows: RowReader = wholeEntities,
  ): Promise<QueryPage[]> {
    // Asked before rows are read: rows that are no longer pending by then are in their tables.
    const isIndexed = !(await mayBePending(view, plans)) || !(await hasPending(entries))
    const isTooLong = createViewAge(view, context.catalog.current().queryTimeMs)
    const isWhole = (): boolean => isIndexed && !isTooLong()
    return Promise.all(plans.map((plan) => readPage(view, entries, plan, options, budget, readRows, isWhole)))
  }

  /** `isWhole` returns true if the index rows lacked no committed entity. */
  async function readPage(
    view: ReadView,
    entries: readonly ServingEntry[],
    plan: QueryPlan | IntersectionPlan,
    { onDamaged, cursor, signal }: QueryOptions,
    budget: ByteBudget,
    readRows: RowReader,
    isWhole: () => boolean,
  ): Promise<QueryPage> {
    const handle = damagedHandler(onDamaged, view)
    const damaged = new Set<EntityId>()
    const handleDamaged =
      handle &&
      ((error: LooseleafError): void => {
        if (error.entity !== undefined) damaged.add(error.entity)
        handle(error)
      })
    const page = await runQuery(readRows(portsOf(view, entries, handleDamaged)), plan, {
      cursor,
      signal,
      budget,
    })
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

  /** Calls `onMatch` with every entity of a plan. Throws `DEADLINE` after `queryTimeMs`, when an entity that has moved may be missing. */
  async function readAll(
    view: ReadView,
    entry: CatalogEntry,
    plan: QueryPlan,
    { signal, onDamaged, likelyRows }: Parameters<ReadAll>[3],
    onMatch: (entity: ReadEntity) => void,
    readEntities: (read: QueryPorts['read']) => QueryPorts['read'] = (read) => read,
  ): Promise<void> {
    const { queryTimeMs } = context.catalog.current()
    const isTooLong = createViewAge(view, queryTimeMs)
    const checkTime = (): void => {
      if (isTooLong()) throw tookTooLong(entry.name, queryTimeMs)
    }
    const ports = portsOf(view, [entry], damagedHandler(onDamaged, view))
    const scan: QueryPorts['scan'] = (...args) => {
      checkTime()
      return ports.scan(...args)
    }
    await forEachMatch({ scan, read: readEntities(ports.read) }, plan, { signal, likelyRows }, onMatch)
    checkTime()
  }

  const { countAll, withCounts } = createCounts(context, mayBePending, readAll)

  return {
    query: (definition, where, options) =>
      onIndex('query', definition, options, mayStandIn, async (view, entry) => {
        const [page] = await readPages(
          view,
          [entry],
          [planOn(catalog.current().placement, entry, where, options, atNow(definition))],
          options,
        )
        return page!
      }),
    intersect: (conditions, options) =>
      onIndexes(
        'intersect',
        conditions.map(({ index }) => index),
        options,
        noStandIn,
        async (view, entries) => {
          const planned = conditions.map(({ where }, i) => ({ index: entries[i]!, where }))
          const plan = hideExpiredOfAny(
            planIntersection(planned, options, catalog.current().placement),
            conditions.map(({ index }) => index.expires),
            time.now(),
          )
          const [page] = await readPages(view, entries, [plan], options)
          return page!
        },
      ),
    queryMany: (definition, wheres, options) =>
      onIndex('queryMany', definition, options, mayStandIn, async (view, entry) => {
        const plans = planManyOn(catalog.current().placement, entry, wheres, options, atNow(definition))
        const budget = { left: MAX_PAGE_BYTES }
        const pages: (QueryPage | CountedPage)[] = []
        while (pages.length < plans.length) {
          const batch = plans.slice(pages.length, pages.length + MAX_TOGETHER)
          const found = await readPages(view, [entry], batch, options, budget)
          pages.push(...(options.count ? await withCounts(view, entry, batch, found, options) : found))
        }
        return pages
      }),
    queryIds: (definition, where, options) =>
      onIndex('queryIds', definition, options, noStandIn, async (view, entry) => {
        const plan = planOn(catalog.current().placement, entry, where, options, atNow(definition))
        const [page] = await readPages(view, [entry], [plan], options, undefined, idsOnly)
        const items = page!.items.map(({ id }) => ({ id }))
        return { ...page!, items, cost: { ...page!.cost, entityReads: 0, entitiesRead: 0 } }
      }),
    list: (definition, where, { verify = true, ...options }) =>
      onIndex('list', definition, options, mayStandIn, async (view, entry) => {
        const listed = entry.standsFor ?? entry
        if (listed.include === undefined) throw notCovering(entry)
        const plan = planOn(catalog.current().placement, entry, where, options, atNow(definition))
        if (isStandIn(entry)) {
          const partsOnly: RowReader = ({ scan, read }) => ({ scan, read: readParts(listed, read) })
          const [page] = await readPages(view, [entry], [plan], options, undefined, partsOnly)
          return { ...page!, verified: true, cost: { ...page!.cost, entitiesCovered: 0 } }
        }
        let counts: Omit<CoveringReads, 'ports'> = { covered: () => 0, wholeReads: () => 0 }
        const coveredParts: RowReader = ({ read }) => {
          const { ports, ...ofPage } = createCoveringReads(context, view.lanes, { entry, plan, verify }, read)
          counts = ofPage
          return ports
        }
        const [page] = await readPages(view, [entry], [plan], options, undefined, coveredParts)
        const entitiesCovered = counts.covered()
        const { cost } = page!
        // Without `verify` a covered item reads nothing of its entity.
        const reads = verify
          ? {}
          : { entityReads: counts.wholeReads(), entitiesRead: cost.entitiesRead - entitiesCovered }
        return { ...page!, verified: verify, cost: { ...cost, ...reads, entitiesCovered } }
      }),
    all: (definition, where, options) =>
      onIndex(
        'getAll',
        definition,
        options,
        mayStandIn,
        async (view, entry) => {
          const plan = planOn(catalog.current().placement, entry, where, options, atNow(definition))
          await mayBePending(view, [plan])
          const entities: IndexedEntity[] = []
          await readAll(view, entry, plan, options, (entity) => {
            // An entity that matches has the indexed properties.
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
            [planOn(catalog.current().placement, entry, where, options, atNow(definition))],
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
          countAll(
            view,
            entry,
            planManyOn(catalog.current().placement, entry, wheres, options, atNow(definition)),
            options,
          ),
        WHOLE,
      ),
    explain: (definition, where, options) =>
      onIndex('explain', definition, {}, mayStandIn, (_, entry) =>
        explainQuery(
          driver,
          entry,
          planOn(catalog.current().placement, entry, where, options, atNow(definition)),
          options,
        ),
      ),
  }
}
