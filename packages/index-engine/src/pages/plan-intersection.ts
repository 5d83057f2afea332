import { LooseleafError, type Bag, type IndexDefinitionData } from '@looseleaf/core'
import { compareKeys, compareKeyValues, type IndexedProperty, type Key } from '@looseleaf/core/internal'
import type { Placement } from '../catalog/placement.ts'
import { boundsOf, type ExactBound } from '../conditions/parse-range.ts'
import { MAX_RANGES, parseWhere, satisfies, type ParsedWhere } from '../conditions/parse-where.ts'
import { deriveExactRows } from '../keys/derive-rows.ts'
import { keyIdentity } from '../keys/key-identity.ts'
import { openIndex } from '../keys/open-index.ts'
import { shardsOfQuery } from '../keys/shard-of-row.ts'
import { intersectionScope } from './cursor.ts'
import { intersectRows, type IntersectedRanges } from './intersect-rows.ts'
import { parseLimit, parseOrder, parseScatter } from './page-options.ts'
import { requireShards, shardsOf } from './plan-query.ts'
import type { QueryOptions } from './query-types.ts'
import type { PagePlan } from './row-source.ts'

/** Largest number of conditions of an intersection. */
export const MAX_CONDITIONS = 8

/** A condition of an intersection: an index with the generation of its table, and an unchecked `where`. */
export interface PlannedCondition {
  readonly index: IndexDefinitionData & { readonly generation: number }
  readonly where: unknown
}

/** A checked intersection, ready to run. */
export interface IntersectionPlan extends PagePlan {
  /** The shards of all ranges, in ascending order. */
  readonly shards: readonly number[]
}

interface ParsedCondition {
  readonly index: PlannedCondition['index']
  readonly where: ParsedWhere
}

/**
 * Plans which entities match several conditions at once, on different indexes or on one. After the properties with given values or lists,
 * all indexes need the same properties, in the order of which the page comes: the ranges of a list are merged in this order. A range on the
 * first of them applies to all conditions. Throws `BAD_QUERY` with the expectation.
 */
export function planIntersection(
  planned: readonly PlannedCondition[],
  options: QueryOptions,
  placement: Placement,
): IntersectionPlan {
  const name = planned.map(({ index }) => index.name).join(' and ')
  const order = parseOrder(`Indexes ${name}`, options.order)
  const limit = parseLimit(`Indexes ${name}`, options.limit)
  const scatter = parseScatter(`Indexes ${name}`, options.scatter)
  const parsed = planned.map(({ index, where }) => ({ index, where: parseWhere(index, where) }))
  for (const other of parsed.slice(1)) requireSameOrder(parsed[0] as ParsedCondition, other)
  if (parsed.some(({ where }) => where.ranges.length === 0)) {
    for (const { index, where } of parsed) requireShards(index, where.depth, scatter)
    return emptyPlan({
      order,
      limit,
      placement,
      scope: intersectionScope(parsed, { ...NO_COLUMNS, name, order }),
    })
  }
  requireFewValues(parsed)
  const conditions = withSameRange(parsed)
  const [{ index, where: firstWhere }] = conditions as [ParsedCondition]
  const depth = depthOf(firstWhere)
  const directions = openIndex(index).directions.slice(depth)
  const ranges = conditions.map((condition, i): IntersectedRanges => {
    requireShards(condition.index, depthOf(condition.where), scatter)
    return condition.where.ranges.map((range) => ({
      index: i,
      range,
      shards: shardsOfQuery(condition.index, placement, range.prefix),
    }))
  })
  const shards = shardsOf(ranges.flat())
  // Rows on the shards of their entities can be matched shard by shard.
  const groups = conditions.every((condition) => condition.index.shardOn === 'id')
    ? shards.map((shard) => ranges.map((each) => each.map((range) => ({ ...range, shards: [shard] }))))
    : [ranges]

  return {
    order,
    limit,
    placement,
    directions,
    shards,
    scope: intersectionScope(conditions, {
      name,
      types: openIndex(index).types.slice(depth),
      directions,
      order,
    }),
    firstKey(bag) {
      let common: Map<string, Key> | undefined
      for (const condition of conditions) {
        const places = placesOf(condition, bag)
        common =
          common === undefined ? places : new Map([...common].filter(([identity]) => places.has(identity)))
        if (common.size === 0) return undefined
      }
      let first: Key | undefined
      for (const key of common?.values() ?? []) {
        if (first === undefined || compareKeys(key, first, directions) < 0 === (order === 'asc')) first = key
      }
      return first
    },
    open: (readOrder, start, maxRows, fetch) =>
      intersectRows({ groups, directions }, readOrder, start, maxRows, fetch),
  }
}

/**
 * Returns the places of a bag's rows that satisfy a condition: their keys after the prefix. The identity of a place is by whole strings.
 */
function placesOf({ index, where }: ParsedCondition, bag: Bag): Map<string, Key> {
  const depth = depthOf(where)
  const places = new Map<string, Key>()
  for (const row of deriveExactRows(index, bag).rows) {
    if (satisfies(where, row)) places.set(keyIdentity(row.exact.slice(depth)), row.key.slice(depth))
  }
  return places
}

/** Returns the plan of an intersection with an empty list, which no entity matches. */
function emptyPlan(
  plan: Pick<IntersectionPlan, 'order' | 'limit' | 'placement' | 'scope'>,
): IntersectionPlan {
  return {
    ...plan,
    directions: NO_COLUMNS.directions,
    shards: [],
    firstKey: () => undefined,
    open: () => ({
      take: () => Promise.resolve([]),
      mayCome: () => false,
      stoppedAt: () => undefined,
    }),
  }
}

const NO_COLUMNS = { types: [], directions: [] } as const

/** Returns the number of columns before the order: those of the prefix of each range. */
const depthOf = ({ ranges }: ParsedWhere): number => ranges[0]!.prefix.length

/** Throws `BAD_QUERY` if the lists of all conditions together have more values than a query may have. Each value is a range to read. */
function requireFewValues(conditions: readonly ParsedCondition[]): void {
  const lists = conditions.filter(({ where }) => where.ranges.length > 1)
  const values = lists.reduce((sum, { where }) => sum + where.ranges.length, 0)
  if (values <= MAX_RANGES) return
  const names = [...new Set(lists.map(({ index }) => index.name))].join(' and ')
  throw new LooseleafError(
    'BAD_QUERY',
    `The lists for index ${names} make ${values} ranges; an intersection reads ${MAX_RANGES} for all lists of its conditions at the most.`,
  )
}

/** Gives every condition the intersection of all ranges on the first property after the given values. */
function withSameRange(conditions: readonly ParsedCondition[]): readonly ParsedCondition[] {
  const wheres = conditions.map(({ where }) => where)
  const lower = narrowest(
    wheres.map((where) => where.lower),
    1,
  )
  const upper = narrowest(
    wheres.map((where) => where.upper),
    -1,
  )
  if (lower === undefined && upper === undefined) return conditions
  const { scan } = boundsOf(lower, upper)
  return conditions.map(({ index, where }) => {
    const hasRange = where.lower !== undefined || where.upper !== undefined
    // A range selects among present values.
    const present = hasRange ? [] : (openIndex(index).properties[where.givenProperties]?.present ?? [])
    return {
      index,
      where: {
        ...where,
        ranges: where.ranges.map(({ prefix }) => ({ prefix: [...prefix, ...present], ...scan })),
        equal: where.equal.map((equal) => [...equal, ...present]),
        lower,
        upper,
      },
    }
  })
}

/** Returns the narrowest bound: the greatest lower bound (side 1), or the least upper bound (side -1). */
function narrowest(bounds: readonly (ExactBound | undefined)[], side: 1 | -1): ExactBound | undefined {
  let narrow: ExactBound | undefined
  for (const bound of bounds) {
    if (bound === undefined) continue
    const distance = narrow === undefined ? 1 : side * compareKeyValues(bound.value, narrow.value)
    if (distance > 0 || (distance === 0 && !bound.inclusive)) narrow = bound
  }
  return narrow
}

/** Throws `BAD_QUERY` unless both indexes have the same properties after the given values, in the same order. */
function requireSameOrder(a: ParsedCondition, b: ParsedCondition): void {
  const orderedBy = ({ index, where }: ParsedCondition): readonly IndexedProperty[] =>
    index.properties.slice(where.givenProperties)
  const [first, second] = [orderedBy(a).map(orderText), orderedBy(b).map(orderText)]
  if (first.length === second.length && first.every((text, i) => text === second[i])) return
  throw new LooseleafError(
    'BAD_QUERY',
    `Indexes ${a.index.name} and ${b.index.name} cannot be read together: after the properties with given values they need the same order. The first has ${first.join(', ') || 'ids'}, the second ${second.join(', ') || 'ids'}.`,
  )
}

/** Describes the column of a property and its order. Its name in the index makes no difference. */
function orderText({ name, of = name, type, many, key, order, nulls }: IndexedProperty): string {
  const words = [of, `${type}${many ? '[]' : ''}`, key && `by ${key}`, order, nulls && `nulls ${nulls}`]
  return words.filter(Boolean).join(' ')
}
