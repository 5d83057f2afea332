import type { CatalogEntry, Driver, IndexScan, ReplicaReadOptions } from '@looseleaf/core'
import { tableSpec, type QueryOptions, type QueryPlan } from '@looseleaf/index-engine'

export type ExplainOptions = Omit<QueryOptions, 'cursor' | 'onDamaged' | keyof ReplicaReadOptions>

/** What a query would do. */
export interface QueryExplanation {
  readonly index: string
  /** The generation of the index that would be read, and its table. */
  readonly generation: number
  readonly table: string
  /** The names of the shards that would be asked for index rows. */
  readonly shards: readonly string[]
  /** Whether `where` does not say which shards have the rows, so that all are asked. */
  readonly scatter: boolean
  /** How many ranges of the index would be read: one, or with lists one for each combination of their values. */
  readonly ranges: number
  /** Index rows within these ranges, counted up to 1,000. Some may be of entities that no longer match. */
  readonly estimatedRows: number
  /** Whether there are more rows than that. */
  readonly isAtLeast: boolean
  /** Entities of a page, at the most. */
  readonly limit: number
}

const MAX_COUNTED = 1000

/** Reads index rows, and no entities. */
export async function explainQuery(
  driver: Driver,
  entry: CatalogEntry,
  plan: QueryPlan,
  { signal }: ExplainOptions,
): Promise<QueryExplanation> {
  const rows = await countRows(driver, entry, plan, signal)
  return {
    index: entry.name,
    generation: entry.generation,
    table: entry.table,
    shards: plan.shards.map((shard) => driver.shards[shard]!.name),
    scatter: plan.scatter,
    ranges: plan.ranges.length,
    estimatedRows: Math.min(rows, MAX_COUNTED),
    isAtLeast: rows > MAX_COUNTED,
    limit: plan.limit,
  }
}

/**
 * The rows of all ranges, or some number above `MAX_COUNTED`. All ranges are asked together for their share of it, and those that
 * have more for twice as much, so that no more than a few thousand rows are read.
 */
async function countRows(
  { shards }: Driver,
  entry: CatalogEntry,
  { ranges }: QueryPlan,
  signal: AbortSignal | undefined,
): Promise<number> {
  let open = ranges.flatMap(({ range, shards: numbers }) => numbers.map((shard) => ({ shard, range })))
  let counted = 0
  for (let limit = Math.ceil((MAX_COUNTED + 1) / open.length); open.length > 0; limit *= 2) {
    const found = await Promise.all(
      Map.groupBy(open, ({ shard }) => shard)
        .entries()
        .map(async ([shard, asked]) => {
          const scans = asked.map(({ range }): IndexScan => ({ ...range, order: 'asc', limit }))
          const pages = await shards[shard]!.index(tableSpec(entry)).scanMany(scans, { signal })
          return asked.map((one, i) => ({ ...one, rows: pages[i]!.length }))
        }),
    )
    const all = found.flat()
    counted += all.reduce((sum, { rows }) => sum + rows, 0)
    if (counted > MAX_COUNTED) break
    open = all.filter(({ rows }) => rows === limit)
    // They are counted anew.
    counted -= open.length * limit
  }
  return counted
}
