import {
  describeKind,
  LooseleafError,
  STRING_PREFIX_BYTES,
  type Bag,
  type IndexDefinitionData,
  type Key,
  type KeyRange,
  type Router,
} from '@looseleaf/core'
import { compareKeys } from './compare-keys.ts'
import { cursorScope, type CursorScope } from './cursor.ts'
import { deriveExactRows } from './derive-rows.ts'
import { openIndex } from './open-index.ts'
import { parseWhere, satisfies, type ParsedWhere } from './parse-where.ts'
import { shardOfRow, shardsOfQuery } from './place-row.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, type QueryOptions, type QueryOrder } from './query-types.ts'

/** A range of an index, and the shards to scan for it, in rising order. */
export interface PlannedRange {
  readonly range: KeyRange
  readonly shards: readonly number[]
}

/** A query that was checked and worked out. It can be run any number of times, with the cursors of its own pages. */
export interface QueryPlan {
  /** The index's name. */
  readonly index: string
  /**
   * The ranges of the index to scan, in rising order: one, or with lists one for each value. They may hold rows that do not
   * match: where bounds are strings of over 512 bytes.
   */
  readonly ranges: readonly PlannedRange[]
  readonly order: QueryOrder
  readonly limit: number
  /** The shards of all ranges, in rising order. */
  readonly shards: readonly number[]
  /**
   * Whether the entities of the rows in each range, counted on each of its shards, are the answers while nothing is in flight.
   * Not where a bound is a string of over 512 bytes, and not where the rows of one entity are in several of these ranges, or on
   * several of these shards.
   */
  readonly canCountRows: boolean
  /** What cursors of this query are bound to. */
  readonly scope: CursorScope
  /** Whether an entity with this bag is an answer: some row of it satisfies the query on its whole values. */
  matches(bag: Bag): boolean
  /** The key of the first row, in the query's order, by which this bag is an answer; undefined when it is none. */
  firstKey(bag: Bag): Key | undefined
  /** The shard of a row of this index. */
  shardOf(key: Key, entityId: Uint8Array): number
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
  const { name, shardOn } = index
  const parsed = parseWhere(index, where)
  const order = parseOrder(name, options.order)
  const limit = parseLimit(name, options.limit)
  const scatter = parseScatter(name, options.scatter)
  const depth = parsed.equal[0]?.length ?? 0
  const { shardColumn, isSpread } = openIndex(index)
  if (!scatter && (shardColumn === undefined || shardColumn >= depth)) {
    throw new LooseleafError(
      'BAD_QUERY',
      shardColumn === undefined
        ? `Index ${name} has its rows on the shards of their entities, so a query has to ask all of them: say so with { scatter: true }, or keep the index by a property (shardOn).`
        : `Index ${name} is kept by ${shardOn}: give a value or a list for it, or ask all shards with { scatter: true }.`,
    )
  }

  const firstKey = (bag: Bag): Key | undefined => {
    let first: Key | undefined
    for (const row of deriveExactRows(index, bag).rows) {
      if (!satisfies(parsed, row)) continue
      if (first === undefined || compareKeys(row.key, first) < 0 === (order === 'asc')) first = row.key
    }
    return first
  }
  const ranges = parsed.ranges.map((range) => ({ range, shards: shardsOfQuery(index, router, range.prefix) }))
  const shards = [...new Set(ranges.flatMap((each) => each.shards))].toSorted((a, b) => a - b)
  const isCountable = !parsed.overlaps && !(isSpread && shards.length > 1)
  return {
    index: name,
    ranges,
    order,
    limit,
    shards,
    canCountRows: isCountable && ![parsed.lower, parsed.upper].some(isLongString),
    scope: cursorScope(index, parsed, order),
    matches: (bag) => firstKey(bag) !== undefined,
    firstKey,
    shardOf: (key, entityId) => shardOfRow(index, router, key, entityId),
  }
}

function isLongString(bound: ParsedWhere['lower']): boolean {
  return bound?.value instanceof Uint8Array && bound.value.length > STRING_PREFIX_BYTES
}

function parseOrder(index: string, order: unknown): QueryOrder {
  if (order === undefined) return 'asc'
  if (order === 'asc' || order === 'desc') return order
  throw new LooseleafError(
    'BAD_QUERY',
    `Index ${index}: order has to be 'asc' or 'desc'; got ${describeKind(order)}.`,
  )
}

function parseLimit(index: string, limit: unknown): number {
  if (limit === undefined) return DEFAULT_LIMIT
  if (typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  const what = typeof limit === 'number' ? String(limit) : describeKind(limit)
  throw new LooseleafError(
    'BAD_QUERY',
    `Index ${index}: limit has to be a whole number from 1 to ${MAX_LIMIT}; got ${what}.`,
  )
}

function parseScatter(index: string, scatter: unknown): boolean {
  if (scatter === undefined || typeof scatter === 'boolean') return scatter ?? false
  throw new LooseleafError(
    'BAD_QUERY',
    `Index ${index}: scatter has to be true or false; got ${describeKind(scatter)}.`,
  )
}
