import {
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type IndexDefinitionData,
} from '@looseleaf/core'
import {
  planQuery,
  runQuery,
  sameRows,
  tableSpec,
  type EngineContext,
  type QueryOptions,
  type QueryPage,
} from '@looseleaf/index-engine'
import type { EntityReader } from './entity-reader.ts'
import type { ShardLanes } from './shard-lanes.ts'

/** What the store does with an index, whatever its properties are; the face of the store adds the types. */
export interface IndexQueries {
  query(index: IndexDefinitionData, where: object, options: QueryOptions): Promise<QueryPage>
  count(index: IndexDefinitionData, where: object, options: CountOptions): Promise<number>
}

export interface CountOptions extends CallOptions {
  /** Ask every shard where the shard cannot be told from `where`. */
  readonly scatter?: boolean
  /**
   * Look at every entity instead of counting index rows. Rows of writes in flight, and of those that died, make a plain
   * count run high for a while; it never runs low. Where rows cannot tell, every entity is looked at in any case: over all
   * shards of an index that is kept by the elements of an array, and between bounds of over 512 bytes.
   */
  readonly exact?: boolean
}

/** Entities per page when everything is read. */
const FULL_PAGE = 1000

export function createIndexQueries(
  context: EngineContext,
  lanes: readonly ShardLanes[],
  reader: EntityReader,
): IndexQueries {
  const { driver, router } = context

  async function readyEntry(definition: IndexDefinitionData): Promise<CatalogEntry> {
    const find = (): CatalogEntry | undefined =>
      context.catalog
        .current()
        .indexes.find((entry) => entry.state !== 'retiring' && sameRows(entry, definition))
    let entry = find()
    if (entry?.state !== 'ready') {
      await context.catalog.reload()
      entry = find()
    }
    if (entry === undefined) throw indexNotFound(definition, context.catalog.current().indexes)
    if (entry.state !== 'ready') {
      throw new LooseleafError(
        'INDEX_NOT_READY',
        `Index ${entry.name} is ${entry.state}: it can be queried when the cleaner has filled it.`,
      )
    }
    return entry
  }

  /** Entities on any shard may have rows pending; a shard that does not answer may have them too. */
  async function hasPending(entry: CatalogEntry): Promise<boolean> {
    const answers = await Promise.allSettled(lanes.map((lane) => lane.pending.submit(entry.table)))
    return answers.some((answer) => answer.status === 'rejected' || answer.value)
  }

  const query: IndexQueries['query'] = async (definition, where, options) => {
    const entry = await readyEntry(definition)
    const plan = planQuery(entry, where, options, router)
    // Before the rows are read: what is no longer pending by then has its rows.
    const complete = !context.catalog.current().mayDefer || !(await hasPending(entry))
    const page = await runQuery(
      {
        scan: (shard, scan, signal) => driver.shards[shard]!.index(tableSpec(entry)).scan(scan, { signal }),
        read: (ids, signal) => reader.read(ids, { signal }),
      },
      plan,
      options,
    )
    return complete ? page : { ...page, cost: { ...page.cost, complete } }
  }

  async function countEntities(
    definition: IndexDefinitionData,
    where: object,
    options: QueryOptions,
  ): Promise<number> {
    let count = 0
    for (let cursor: string | undefined; ;) {
      const page = await query(definition, where, { ...options, limit: FULL_PAGE, ...(cursor && { cursor }) })
      count += page.items.length
      if (page.cursor === undefined) return count
      cursor = page.cursor
    }
  }

  return {
    query,
    async count(definition, where, { exact = false, ...options }) {
      if (exact) return countEntities(definition, where, options)
      const entry = await readyEntry(definition)
      const plan = planQuery(entry, where, options, router)
      if (!plan.canCountRows) return countEntities(definition, where, options)
      const counts = await Promise.all(
        plan.shards.map((shard) => driver.shards[shard]!.index(tableSpec(entry)).count(plan.range, options)),
      )
      return counts.reduce((sum, n) => sum + n, 0)
    },
  }
}

function indexNotFound(definition: IndexDefinitionData, known: readonly CatalogEntry[]): LooseleafError {
  const other = known.find((entry) => entry.name === definition.name)
  const message =
    other === undefined
      ? `The store has no index ${definition.name}. It has: ${known.map(({ name }) => name).join(', ') || 'none'}.`
      : `The store has an index ${definition.name}, but with another definition than the one given.`
  return new LooseleafError(
    'INDEX_NOT_FOUND',
    `${message} Add it with \`store.addIndex\`, or open with \`migrate: true\`.`,
  )
}
