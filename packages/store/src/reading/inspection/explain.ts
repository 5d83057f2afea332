import type { Driver } from '@looseleaf/core'
import type { CatalogEntry, IndexScan, ReplicaReadOptions } from '@looseleaf/core/internal'
import type { QueryOptions } from '@looseleaf/index-engine'
import { tableSpec, type QueryPlan } from '@looseleaf/index-engine/internal'
import { isMostlyLocal } from '../../calls/local-share.ts'
import { joinsEntities } from '../rows/row-reader.ts'

export type ExplainOptions = Omit<
  QueryOptions,
  'cursor' | 'onDamaged' | 'onUnavailable' | keyof ReplicaReadOptions
>

/** The plan of a query, and the number of its index rows. */
export interface QueryExplanation {
  readonly index: string
  /** The generation of the index that would be read, and its table. */
  readonly generation: number
  readonly table: string
  /** The names of the shards that would be asked for index rows. */
  readonly shards: readonly string[]
  /** True if every shard is asked, because `where` does not tell which shards have the rows. */
  readonly scatter: boolean
  /** Number of ranges of the index: one, or with value lists one for each combination of their values. */
  readonly ranges: number
  /** Index rows within these ranges, counted up to 1,000. Some may be of entities that no longer match. */
  readonly estimatedRows: number
  /** True if there are more rows than `estimatedRows`. */
  readonly isAtLeast: boolean
  /** Largest number of entities of a page. */
  readonly limit: number
  /**
   * Share of the counted rows, 0 to 1, whose entities are on the shards of the rows, where one statement reads both. Undefined without
   * rows.
   */
  readonly localShare: number | undefined
  /**
   * True if, by `localShare`, a page reads rows and entities in one statement per shard, and only the entities of other shards by id. A
   * process does so once its pages of the index have met mostly such rows.
   */
  readonly joinsEntities: boolean
}

/** Rows up to which `estimatedRows` counts. */
const MAX_COUNTED = 1000

/** Explains a query by its plan and by counting index rows. Reads no entities. */
export async function explainQuery(
  driver: Driver,
  entry: CatalogEntry,
  plan: QueryPlan,
  { signal }: ExplainOptions,
): Promise<QueryExplanation> {
  const { rows, localShare } = await countRows(driver, entry, plan, signal)
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
    localShare,
    joinsEntities:
      joinsEntities(plan, plan.limit + 1) && localShare !== undefined && isMostlyLocal(localShare),
  }
}

/**
 * Counts the rows of all ranges, or returns some number above `MAX_COUNTED`. Asks each range for its share of `MAX_COUNTED`, and ranges
 * with more rows for twice as many again, so that at most a few thousand rows are read.
 */
async function countRows(
  { shards }: Driver,
  entry: CatalogEntry,
  { ranges, placement }: QueryPlan,
  signal: AbortSignal | undefined,
): Promise<{ readonly rows: number; readonly localShare: number | undefined }> {
  let seen = 0
  let local = 0
  let open = ranges.flatMap(({ range, shards: numbers }) => numbers.map((shard) => ({ shard, range })))
  let counted = 0
  for (let limit = Math.ceil((MAX_COUNTED + 1) / open.length); open.length > 0; limit *= 2) {
    const found = await Promise.all(
      Map.groupBy(open, ({ shard }) => shard)
        .entries()
        .map(async ([shard, ranged]) => {
          const scans = ranged.map(({ range }): IndexScan => ({ ...range, order: 'asc', limit }))
          const pages = await shards[shard]!.index(tableSpec(entry)).scanMany(scans, { signal })
          for (const { entityId } of pages.flat()) {
            seen++
            if (placement.shardOfId(entityId) === shard) local++
          }
          return ranged.map((each, i) => ({ ...each, rows: pages[i]!.length }))
        }),
    )
    const all = found.flat()
    counted += all.reduce((sum, { rows }) => sum + rows, 0)
    if (counted > MAX_COUNTED) break
    open = all.filter(({ rows }) => rows === limit)
    // The next round counts these ranges again from their start.
    counted -= open.length * limit
  }
  return { rows: counted, localShare: seen === 0 ? undefined : local / seen }
}
