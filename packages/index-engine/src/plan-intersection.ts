import {
  compareKeys,
  compareKeyValues,
  LooseleafError,
  type Bag,
  type IndexDefinitionData,
  type IndexedProperty,
  type Key,
  type KeyRange,
  type Router,
} from '@looseleaf/core'
import { intersectionScope } from './cursor.ts'
import { deriveExactRows } from './derive-rows.ts'
import { intersectRows, type IntersectedRange } from './intersect-rows.ts'
import { keyIdentity } from './key-identity.ts'
import { openIndex } from './open-index.ts'
import { parseLimit, parseOrder, parseScatter } from './page-options.ts'
import { parseWhere, satisfies, boundsOf, type ExactBound, type ParsedWhere } from './parse-where.ts'
import { shardsOfQuery } from './place-row.ts'
import { requireShards, shardsOf } from './plan-query.ts'
import type { QueryOptions } from './query-types.ts'
import type { PagePlan } from './row-source.ts'

/** Indexes that one intersection reads at the most. */
export const MAX_CONDITIONS = 8

/** One condition of an intersection: an index with the generation of its table, and what is asked of it. */
export interface PlannedCondition {
  readonly index: IndexDefinitionData & { readonly generation: number }
  readonly where: unknown
}

/** An intersection that was checked and worked out. */
export interface IntersectionPlan extends PagePlan {
  /** The shards of all ranges, from the first one on. */
  readonly shards: readonly number[]
}

interface ParsedCondition {
  readonly index: PlannedCondition['index']
  readonly where: ParsedWhere
}

/** A condition with its one range, whose prefix is what it gives values for. */
interface Condition extends ParsedCondition {
  readonly range: KeyRange
}

/**
 * Works out which entities match several conditions at once, of different indexes or of one, in the order of what stands behind
 * the values given: the same properties in all. A range on the first of these goes for all. Throws `BAD_QUERY` with what was
 * expected.
 */
export function planIntersection(
  given: readonly PlannedCondition[],
  options: QueryOptions,
  router: Router,
): IntersectionPlan {
  const name = given.map(({ index }) => index.name).join(' and ')
  const order = parseOrder(`Indexes ${name}`, options.order)
  const limit = parseLimit(`Indexes ${name}`, options.limit)
  const scatter = parseScatter(`Indexes ${name}`, options.scatter)
  const parsed = given.map(({ index, where }) => ({ index, where: parseWhere(index, where) }))
  for (const other of parsed.slice(1)) requireSameRest(parsed[0] as ParsedCondition, other)
  if (parsed.some(({ where }) => where.ranges.length === 0)) {
    for (const { index, where } of parsed) requireShards(index, where.depth, scatter)
    return emptyPlan({ order, limit, scope: intersectionScope(parsed, { ...NO_COLUMNS, name, order }) })
  }
  const conditions = withSameRange(parsed.map(withRange))
  const { index, range } = conditions[0] as Condition
  const depth = range.prefix.length
  const directions = openIndex(index).directions.slice(depth)
  const ranges = conditions.map((condition, i): IntersectedRange => {
    requireShards(condition.index, condition.range.prefix.length, scatter)
    const shards = shardsOfQuery(condition.index, router, condition.range.prefix)
    return { index: i, range: condition.range, shards }
  })
  const shards = shardsOf(ranges)
  // Rows that are all with their entity meet on its shard.
  const groups = conditions.every((condition) => condition.index.shardOn === 'id')
    ? shards.map((shard) => ranges.map((each) => ({ ...each, shards: [shard] })))
    : [ranges]

  return {
    order,
    limit,
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
        const rests = restsOf(condition, bag)
        common =
          common === undefined ? rests : new Map([...common].filter(([identity]) => rests.has(identity)))
        if (common.size === 0) return undefined
      }
      let first: Key | undefined
      for (const key of common?.values() ?? []) {
        if (first === undefined || compareKeys(key, first, directions) < 0 === (order === 'asc')) first = key
      }
      return first
    },
    open: (way, start, maxRows, fetch) => intersectRows({ groups, directions }, way, start, maxRows, fetch),
  }
}

/** What stands behind the values given in the rows of a bag that satisfy a condition, by the whole of each string. */
function restsOf({ index, where, range }: Condition, bag: Bag): Map<string, Key> {
  const depth = range.prefix.length
  const rests = new Map<string, Key>()
  for (const row of deriveExactRows(index, bag).rows) {
    if (satisfies(where, row)) rests.set(keyIdentity(row.exact.slice(depth)), row.key.slice(depth))
  }
  return rests
}

/** The plan of an intersection with an empty list: no entity matches, whatever the other conditions are. */
function emptyPlan(plan: Pick<IntersectionPlan, 'order' | 'limit' | 'scope'>): IntersectionPlan {
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

function withRange({ index, where }: ParsedCondition): Condition {
  const [range, ...others] = where.ranges
  if (range === undefined || others.length > 0) {
    throw new LooseleafError(
      'BAD_QUERY',
      `Index ${index.name} got a list of ${where.ranges.length} values; an intersection takes one value of each property.`,
    )
  }
  return { index, where, range }
}

/** The same conditions, each with the range that all of them together leave of the first property behind their values. */
function withSameRange(conditions: readonly Condition[]): readonly Condition[] {
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
    const [equal = []] = where.equal
    const hasRange = where.lower !== undefined || where.upper !== undefined
    // It is one of values that are there.
    const present = hasRange ? [] : (openIndex(index).properties[where.given]?.present ?? [])
    const prefix = [...(where.ranges[0]?.prefix ?? []), ...present]
    const range = { prefix, ...scan }
    return {
      index,
      range,
      where: { ...where, ranges: [range], equal: [[...equal, ...present]], lower, upper },
    }
  })
}

/** Of some bounds the one that leaves least: the greatest of lower ones (1), the least of upper ones (-1). */
function narrowest(bounds: readonly (ExactBound | undefined)[], side: 1 | -1): ExactBound | undefined {
  let found: ExactBound | undefined
  for (const bound of bounds) {
    if (bound === undefined) continue
    const distance = found === undefined ? 1 : side * compareKeyValues(bound.value, found.value)
    if (distance > 0 || (distance === 0 && !bound.inclusive)) found = bound
  }
  return found
}

/** Rows of two indexes can be matched when what stands behind the values given is the same, in the same order. */
function requireSameRest(a: ParsedCondition, b: ParsedCondition): void {
  const restOf = ({ index, where }: ParsedCondition): readonly IndexedProperty[] =>
    index.properties.slice(where.given)
  const [own, others] = [restOf(a).map(orderText), restOf(b).map(orderText)]
  if (own.length === others.length && own.every((text, i) => text === others[i])) return
  throw new LooseleafError(
    'BAD_QUERY',
    `Indexes ${a.index.name} and ${b.index.name} cannot be read together: after the properties with given values they need the same order. The first has ${own.join(', ') || 'ids'}, the second ${others.join(', ') || 'ids'}.`,
  )
}

/** What a property's column holds and how it stands, in words; its name in the index makes no difference. */
function orderText({ name, of = name, type, many, key, order, nulls }: IndexedProperty): string {
  const words = [of, `${type}${many ? '[]' : ''}`, key && `by ${key}`, order, nulls && `nulls ${nulls}`]
  return words.filter(Boolean).join(' ')
}
