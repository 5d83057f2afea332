import { LooseleafError, type Bag, type IndexDefinitionData } from '@looseleaf/core'
import { STRING_PREFIX_BYTES, type CatalogEntry, type KeyRange, isBytes } from '@looseleaf/core/internal'
import { isProtected } from '../catalog/exact-indexes.ts'
import { matchingKey } from '../conditions/matching-key.ts'
import { parseWhere, type ParsedWhere } from '../conditions/parse-where.ts'
import { openIndex } from '../keys/open-index.ts'
import { shardOfRow, shardsOfQuery } from '../keys/shard-of-row.ts'
import type { Placement } from '../catalog/placement.ts'
import { cursorScope, type RowPlace } from './cursor.ts'
import { mergeRows } from './merge-rows.ts'
import { parseLimit, parseOrder, parseScatter } from './page-options.ts'
import type { QueryOptions } from './query-types.ts'
import type { PagePlan } from './row-source.ts'

/** A range of an index, and the shards to scan for it, in ascending order. */
export interface PlannedRange {
  readonly range: KeyRange
  readonly shards: readonly number[]
}

/** A checked query. It can run any number of times, with the cursors of its own pages. */
export interface QueryPlan extends PagePlan {
  /** The index's name. */
  readonly index: string
  /**
   * The ranges to scan, in the order of the index: one, or with lists one per combination of values. If a bound is a string of more
   * than 512 bytes, they contain rows that do not match.
   */
  readonly ranges: readonly PlannedRange[]
  /** The shards of all ranges, in ascending order. */
  readonly shards: readonly number[]
  /** Whether the query asks all shards, because `where` does not decide the shard. */
  readonly scatter: boolean
  /**
   * Whether the count of distinct entities in the rows of each range and shard is exact while no write is in flight. False if a bound
   * is a string of more than 512 bytes, and if an entity may have rows in several ranges or on several shards.
   */
  readonly canCountRows: boolean
  /**
   * Whether a row with its entity's version tells the place of the entity and that it matches. True if an entity has at most one key,
   * and no bound is a string of more than 512 bytes.
   */
  readonly rowsTellPlaces: boolean
  /** Whether a row with its entity's version tells that the entity matches, without its bag. */
  readonly rowsTellAnswers: boolean
  /** Tells whether an entity with this bag matches: at least one of its rows satisfies the query, by whole strings. */
  matches(bag: Bag): boolean
}

/**
 * Plans a query on an index, given by its definition and the generation of its table. Throws `BAD_QUERY` with the index, the property
 * and the expectation. Does not read `options.cursor`; `runQuery` does.
 */
export function planQuery(
  index: IndexDefinitionData & Pick<CatalogEntry, 'generation' | 'exact'>,
  where: unknown,
  options: QueryOptions,
  placement: Placement,
): QueryPlan {
  const { name } = index
  const parsed = parseWhere(index, where)
  const order = parseOrder(`Index ${name}`, options.order)
  const limit = parseLimit(`Index ${name}`, options.limit)
  const scatter = parseScatter(`Index ${name}`, options.scatter)
  const { depth } = parsed
  const { isSpread, directions, properties } = openIndex(index)
  requireShards(index, depth, scatter)

  const firstKey = matchingKey(index, parsed, order)
  const ranges = parsed.ranges.map((range) => ({
    range,
    shards: shardsOfQuery(index, placement, range.prefix),
  }))
  const shards = ranges.length === 1 ? ranges[0]!.shards : shardsOf(ranges)
  const isCountable = !parsed.overlaps && !(isSpread && shards.length > 1)
  const shardOf = ({ key, entityId }: RowPlace): number => shardOfRow(index, placement, key, entityId)
  const hasLongBound = [parsed.lower, parsed.upper].some(isLongString)
  return {
    index: name,
    ranges,
    order,
    directions,
    limit,
    placement,
    shards,
    scatter: isAnywhere(index, depth),
    canCountRows: isCountable && !hasLongBound,
    rowsTellAnswers: true,
    rowsTellPlaces: !hasLongBound && !properties.some(({ many }) => many),
    scope: cursorScope(index, parsed, order),
    matches: (bag) => firstKey(bag) !== undefined,
    firstKey,
    // Scans that start together are one statement, which an exact index is read by if possible.
    open: (readOrder, start, _, fetch) =>
      mergeRows({ ranges, directions, shardOf, startsTogether: isProtected(index) }, readOrder, start, fetch),
  }
}

/** Throws `BAD_QUERY` if a query without `scatter` may need every shard. `depth`: leading columns with given values. */
export function requireShards(
  index: Pick<IndexDefinitionData, 'name' | 'properties' | 'shardOn'>,
  depth: number,
  scatter: boolean,
): void {
  if (scatter || !isAnywhere(index, depth)) return
  const { name, shardOn } = index
  throw new LooseleafError(
    'BAD_QUERY',
    shardOn === 'id'
      ? `Index ${name} has its rows on the shards of their entities, so a query has to ask all of them: give { scatter: true }, or shard the index on a property (shardOn).`
      : `Index ${name} is sharded on ${shardOn}: give a value or a list for it, or ask all shards with { scatter: true }.`,
  )
}

/** Tells whether a matching row may be on any shard. */
function isAnywhere(index: Pick<IndexDefinitionData, 'properties' | 'shardOn'>, depth: number): boolean {
  const { shardColumn } = openIndex(index)
  return shardColumn === undefined || shardColumn >= depth
}

/** Returns the distinct shards of all ranges, in ascending order. */
export function shardsOf(ranges: readonly Pick<PlannedRange, 'shards'>[]): readonly number[] {
  return [...new Set(ranges.flatMap((each) => each.shards))].toSorted((a, b) => a - b)
}

function isLongString(bound: ParsedWhere['lower']): boolean {
  return isBytes(bound?.value) && bound.value.length > STRING_PREFIX_BYTES
}
