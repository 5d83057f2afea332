import {
  LooseleafError,
  STRING_PREFIX_BYTES,
  type Bag,
  type IndexDefinitionData,
  type KeyRange,
  type Router,
  isBytes,
} from '@looseleaf/core'
import { answerKey } from './answer-key.ts'
import { cursorScope } from './cursor.ts'
import { mergeRows } from './merge-rows.ts'
import { openIndex } from './open-index.ts'
import { parseLimit, parseOrder, parseScatter } from './page-options.ts'
import { parseWhere, type ParsedWhere } from './parse-where.ts'
import { shardOfRow, shardsOfQuery } from './place-row.ts'
import type { QueryOptions } from './query-types.ts'
import type { PagePlan } from './row-source.ts'

/** A range of an index, and the shards to scan for it, from the first one on. */
export interface PlannedRange {
  readonly range: KeyRange
  readonly shards: readonly number[]
}

/** A query that was checked and worked out. It can be run any number of times, with the cursors of its own pages. */
export interface QueryPlan extends PagePlan {
  /** The index's name. */
  readonly index: string
  /**
   * The ranges of the index to scan, in its order: one, or with lists one for each value. They may hold rows that do not
   * match: where bounds are strings of over 512 bytes.
   */
  readonly ranges: readonly PlannedRange[]
  /** The shards of all ranges, from the first one on. */
  readonly shards: readonly number[]
  /** Whether `where` does not say which shards have the rows, so that all are asked. */
  readonly scatter: boolean
  /**
   * Whether the entities of the rows in each range, counted on each of its shards, are the answers while nothing is in flight.
   * Not where a bound is a string of over 512 bytes, and not where the rows of one entity are in several of these ranges, or on
   * several of these shards.
   */
  readonly canCountRows: boolean
  /**
   * Whether a row says all of where its entity stands and whether it is an answer, for who believes it: an entity has one key at
   * the most, which its part would give too, and no bound is a string of over 512 bytes.
   */
  readonly rowsTellPlaces: boolean
  /** Whether the entity of a row that has its version is an answer, though its bag was not looked at. */
  readonly rowsTellAnswers: boolean
  /** Whether an entity with this bag is an answer: some row of it satisfies the query on its whole values. */
  matches(bag: Bag): boolean
}

/**
 * Works out a query on an index, given as its definition with the generation of its table. Throws `BAD_QUERY` with the
 * index, the property and what was expected. The cursor among the options is looked at by `runQuery`.
 */
export function planQuery(
  index: IndexDefinitionData & { readonly generation: number },
  where: unknown,
  options: QueryOptions,
  router: Router,
): QueryPlan {
  const { name } = index
  const parsed = parseWhere(index, where)
  const order = parseOrder(`Index ${name}`, options.order)
  const limit = parseLimit(`Index ${name}`, options.limit)
  const scatter = parseScatter(`Index ${name}`, options.scatter)
  const { depth } = parsed
  const { isSpread, directions, properties } = openIndex(index)
  requireShards(index, depth, scatter)

  const firstKey = answerKey(index, parsed, order)
  const ranges = parsed.ranges.map((range) => ({ range, shards: shardsOfQuery(index, router, range.prefix) }))
  const shards = ranges.length === 1 ? ranges[0]!.shards : shardsOf(ranges)
  const isCountable = !parsed.overlaps && !(isSpread && shards.length > 1)
  const hasLongBound = [parsed.lower, parsed.upper].some(isLongString)
  return {
    index: name,
    ranges,
    order,
    directions,
    limit,
    shards,
    scatter: isAnywhere(index, depth),
    canCountRows: isCountable && !hasLongBound,
    rowsTellAnswers: true,
    rowsTellPlaces: !hasLongBound && !properties.some(({ many }) => many),
    scope: cursorScope(index, parsed, order),
    matches: (bag) => firstKey(bag) !== undefined,
    firstKey,
    open(way, start, _, fetch) {
      const merged = mergeRows({ ranges, directions }, way, start, fetch)
      return {
        take: merged.take,
        mayCome: (place) => merged.mayCome(shardOfRow(index, router, place.key, place.entityId), place),
        stoppedAt: () => undefined,
      }
    },
  }
}

/**
 * Throws `BAD_QUERY` where rows with so many leading columns given may be on any shard, and it is not said that all are to be
 * asked.
 */
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

/** Whether rows with so many leading columns given may be on any shard. */
function isAnywhere(index: Pick<IndexDefinitionData, 'properties' | 'shardOn'>, depth: number): boolean {
  const { shardColumn } = openIndex(index)
  return shardColumn === undefined || shardColumn >= depth
}

/** Each once, in their order. */
export function shardsOf(ranges: readonly Pick<PlannedRange, 'shards'>[]): readonly number[] {
  return [...new Set(ranges.flatMap((each) => each.shards))].toSorted((a, b) => a - b)
}

function isLongString(bound: ParsedWhere['lower']): boolean {
  return isBytes(bound?.value) && bound.value.length > STRING_PREFIX_BYTES
}
