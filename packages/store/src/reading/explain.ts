import type { CatalogEntry, Driver } from '@looseleaf/core'
import { tableSpec, type QueryOptions, type QueryPlan } from '@looseleaf/index-engine'

export type ExplainOptions = Omit<QueryOptions, 'cursor' | 'onDamaged'>

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
  let rows = 0
  for (const { range, shards } of plan.ranges) {
    const limit = MAX_COUNTED + 1 - rows
    const found = await Promise.all(
      shards.map((shard) =>
        driver.shards[shard]!.index(tableSpec(entry)).scan({ ...range, order: 'asc', limit }, { signal }),
      ),
    )
    for (const { length } of found) rows += length
    if (rows > MAX_COUNTED) break
  }
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
