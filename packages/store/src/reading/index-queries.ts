import {
  isLooseleafError,
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type EntityId,
  type IndexDefinitionData,
} from '@looseleaf/core'
import {
  forEachMatch,
  isPaused,
  planIntersection,
  planQuery,
  runQuery,
  sameRows,
  tableSpec,
  toEntity,
  type EngineContext,
  type GetAllOptions,
  type IndexedEntity,
  type IntersectionPlan,
  type OnDamaged,
  type QueryOptions,
  type QueryPage,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
} from '@looseleaf/index-engine'
import { createAge } from '../catalog/age.ts'
import { createCatalogWatch } from '../catalog/catalog-watch.ts'
import {
  createCoveringReads,
  notCovering,
  type CoveringReads,
  type ListOptions,
  type ListPage,
} from './covering-reads.ts'
import { damagedTeller } from './damaged-teller.ts'
import { explainQuery, type ExplainOptions, type QueryExplanation } from './explain.ts'
import type { EntityReader, ReadOptions } from './entity-reader.ts'
import type { ShardLanes } from '../calls/shard-lanes.ts'

/** What the store does with an index, whatever its properties are; the face of the store adds the types. */
export interface IndexQueries {
  intersect(conditions: readonly Condition[], options: QueryOptions): Promise<QueryPage>
  query(index: IndexDefinitionData, where: object, options: QueryOptions): Promise<QueryPage>
  list(index: IndexDefinitionData, where: object, options: ListOptions): Promise<ListPage>
  all(index: IndexDefinitionData, where: object, options: GetAllOptions): Promise<IndexedEntity[]>
  count(index: IndexDefinitionData, where: object, options: CountOptions): Promise<number>
  explain(index: IndexDefinitionData, where: object, options: ExplainOptions): Promise<QueryExplanation>
}

/** An index, and what is asked of it. */
interface Condition {
  readonly index: IndexDefinitionData
  readonly where: object
}

export interface CountOptions extends CallOptions {
  /** Ask every shard where the shard cannot be told from `where`. */
  readonly scatter?: boolean
  /**
   * Look at every entity instead of counting index rows. Rows of writes in flight, and of those that died, make a plain
   * count run high for a while; it runs low only while rows are pending, see `onIndexFailure`. Where rows cannot tell,
   * every entity is looked at in any case: over all shards of an index that is kept by the elements of an array, and
   * between bounds of over 512 bytes.
   */
  readonly exact?: boolean
  /** What becomes of a call that looks at entities and meets a damaged one. Default: `fail`. */
  readonly onDamaged?: OnDamaged
}

export function createIndexQueries(
  context: EngineContext,
  lanes: readonly ShardLanes[],
  reader: EntityReader,
): IndexQueries {
  const { driver, router } = context
  const watch = createCatalogWatch(context)

  /** Throws `INDEX_NOT_FOUND` and `INDEX_NOT_READY`. */
  async function readyEntry(definition: IndexDefinitionData): Promise<CatalogEntry> {
    const find = (): CatalogEntry | undefined =>
      context.catalog
        .current()
        .indexes.find((entry) => !entry.unique && entry.state !== 'retiring' && sameRows(entry, definition))
    let entry = find()
    if (entry?.state !== 'ready' || entry.hidden) {
      await context.catalog.reload()
      entry = find()
    }
    const { indexes, silent } = context.catalog.current()
    // One that does not answer may know it.
    if (entry === undefined) throw silent[0] ?? indexNotFound(definition, indexes)
    if (entry.hidden || entry.state !== 'ready') throw notReady(entry)
    return entry
  }

  async function readyEntries(definitions: readonly IndexDefinitionData[]): Promise<CatalogEntry[]> {
    const entries: CatalogEntry[] = []
    for (const definition of definitions) entries.push(await readyEntry(definition))
    return entries
  }

  /** Works on the indexes of definitions; where a table has gone since the catalog was read they are looked up again. */
  async function onIndexes<T>(
    definitions: readonly IndexDefinitionData[],
    work: (entries: readonly CatalogEntry[]) => Promise<T>,
  ): Promise<T> {
    const entries = await readyEntries(definitions)
    try {
      return await work(entries)
    } catch (error) {
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
      await context.catalog.reload()
      const now = await readyEntries(definitions)
      if (now.some(({ table }, i) => table !== entries[i]?.table)) return work(now)
      throw new LooseleafError(
        'INDEX_NOT_FOUND',
        `${error.message} Open the store with \`migrate: true\`, or run \`looseleaf init\`: the index begins anew then.`,
        { shard: error.shard, cause: error },
      )
    }
  }

  const onIndex = <T>(
    definition: IndexDefinitionData,
    work: (entry: CatalogEntry) => Promise<T>,
  ): Promise<T> => onIndexes([definition], ([entry]) => work(entry as CatalogEntry))

  /** Entities on any shard may have rows pending; a shard that does not answer may have them too. */
  async function hasPending(entries: readonly CatalogEntry[]): Promise<boolean> {
    const tables = [...new Set(entries.map(({ table }) => table))]
    const answers = await Promise.allSettled(
      lanes.flatMap((lane) => tables.map((table) => lane.pending.submit(table))),
    )
    return answers.some((answer) => answer.status === 'rejected' || answer.value)
  }

  const mayBePending = ({ shards }: { readonly shards: readonly number[] }): Promise<boolean> =>
    watch.mayBePending(shards[0] ?? 0)

  /** Of a process that knows its store, as of now or some seconds ago. */
  async function planFor(entry: CatalogEntry, where: object, options: GetAllOptions): Promise<QueryPlan> {
    const plan = planQuery(entry, where, options, router)
    await mayBePending(plan)
    return plan
  }

  const portsOf = (
    entries: readonly CatalogEntry[],
    tellDamaged: ReadOptions['tellDamaged'],
  ): QueryPorts => ({
    scan: (shard, scan, signal, index) =>
      driver.shards[shard]!.index(tableSpec(entries[index]!)).scan(scan, { signal }),
    read: (ids, signal, take) => reader.each(ids, { signal, tellDamaged }, take),
  })

  async function readPage(
    entries: readonly CatalogEntry[],
    plan: QueryPlan | IntersectionPlan,
    { onDamaged, cursor, signal }: QueryOptions,
    readBy: (ports: QueryPorts) => QueryPorts = (ports) => ports,
  ): Promise<QueryPage> {
    // Before the rows are read: what is no longer pending by then has its rows.
    const isIndexed = !(await mayBePending(plan)) || !(await hasPending(entries))
    const isTooLong = createAge(context.time, context.catalog.current().queryTimeMs)
    const damaged = new Set<EntityId>()
    const tell = damagedTeller(onDamaged)
    const tellDamaged =
      tell &&
      ((error: LooseleafError): void => {
        if (error.entity !== undefined) damaged.add(error.entity)
        tell(error)
      })
    const page = await runQuery(readBy(portsOf(entries, tellDamaged)), plan, { cursor, signal })
    const complete = page.cost.complete && isIndexed && !isTooLong()
    if (complete === page.cost.complete && damaged.size === 0) return page
    const cost = { ...page.cost, complete, ...(damaged.size > 0 && { damaged: [...damaged] }) }
    return { ...page, cost }
  }

  /** Throws `DEADLINE` when it took so long that an entity that moved meanwhile may be missing. */
  async function readAll(
    entry: CatalogEntry,
    plan: QueryPlan,
    { signal, onDamaged }: GetAllOptions,
    onMatch: (entity: ReadEntity) => void,
  ): Promise<void> {
    const { queryTimeMs } = context.catalog.current()
    const isTooLong = createAge(context.time, queryTimeMs)
    const checkTime = (): void => {
      if (isTooLong()) throw tookTooLong(entry.name, queryTimeMs)
    }
    const ports = portsOf([entry], damagedTeller(onDamaged))
    const scan: QueryPorts['scan'] = (...asked) => {
      checkTime()
      return ports.scan(...asked)
    }
    await forEachMatch({ ...ports, scan }, plan, { signal }, onMatch)
    checkTime()
  }

  async function countEntities(
    entry: CatalogEntry,
    plan: QueryPlan,
    options: GetAllOptions,
  ): Promise<number> {
    let count = 0
    await readAll(entry, plan, options, () => count++)
    return count
  }

  return {
    query: (definition, where, options) =>
      onIndex(definition, (entry) => readPage([entry], planQuery(entry, where, options, router), options)),
    intersect: (conditions, options) =>
      onIndexes(
        conditions.map(({ index }) => index),
        (entries) => {
          const planned = conditions.map(({ where }, i) => ({ index: entries[i]!, where }))
          return readPage(entries, planIntersection(planned, options, router), options)
        },
      ),
    list: (definition, where, { verify = true, ...options }) =>
      onIndex(definition, async (entry) => {
        if (entry.include === undefined) throw notCovering(entry)
        let covered: CoveringReads['covered'] = () => 0
        const page = await readPage(
          [entry],
          planQuery(entry, where, options, router),
          options,
          ({ read }) => {
            const reads = createCoveringReads(context, lanes, entry, read, verify)
            covered = reads.covered
            return reads.ports
          },
        )
        return { ...page, verified: verify, cost: { ...page.cost, entitiesCovered: covered() } }
      }),
    all: (definition, where, options) =>
      onIndex(definition, async (entry) => {
        const plan = await planFor(entry, where, options)
        const entities: IndexedEntity[] = []
        await readAll(entry, plan, options, (entity) => {
          // It matches, so it has the indexed properties.
          entities.push(toEntity(entity) as IndexedEntity)
        })
        return entities
      }),
    count: (definition, where, { exact = false, ...options }) =>
      onIndex(definition, async (entry) => {
        const plan = await planFor(entry, where, options)
        if (exact || !plan.canCountRows) return countEntities(entry, plan, options)
        let sum = 0
        // Ranges one after the other: a list has up to a hundred, and others want connections too.
        for (const { range, shards } of plan.ranges) {
          const counts = await Promise.all(
            shards.map((shard) => driver.shards[shard]!.index(tableSpec(entry)).count(range, options)),
          )
          for (const count of counts) sum += count
        }
        return sum
      }),
    explain: (definition, where, options) =>
      onIndex(definition, (entry) =>
        explainQuery(driver, entry, planQuery(entry, where, options, router), options),
      ),
  }
}

function notReady(entry: CatalogEntry): LooseleafError {
  const { name, generation, state, hidden } = entry
  const why = hidden
    ? `hidden, as one that is about to be dropped: bring it back with \`looseleaf index restore ${name} --generation ${generation}\` or \`store.restoreIndex\`.`
    : isPaused(entry)
      ? `${state}, and its filling is paused: it can be queried when that was resumed (\`looseleaf index resume ${name}\`) and is done.`
      : `${state}: it can be queried when the cleaner has filled it.`
  return new LooseleafError('INDEX_NOT_READY', `Index ${name} is ${why}`)
}

function tookTooLong(index: string, queryTimeMs: number): LooseleafError {
  return new LooseleafError(
    'DEADLINE',
    `Index ${index}: to read everything takes longer than the ${queryTimeMs} ms (queryTimeMs) for which this store keeps the rows of entities that move, so some might be missed. Read it page by page with \`query\`.`,
  )
}

function indexNotFound(definition: IndexDefinitionData, known: readonly CatalogEntry[]): LooseleafError {
  const other = known.find((entry) => entry.name === definition.name)
  const message =
    other === undefined
      ? `The store has no index ${definition.name}. It has: ${[...new Set(known.map(({ name }) => name))].join(', ') || 'none'}.`
      : `The store has an index ${definition.name}, but with another definition than the one given.`
  return new LooseleafError(
    'INDEX_NOT_FOUND',
    `${message} Add it with \`store.addIndex\`, or open with \`migrate: true\`.`,
  )
}
