import type { IndexDefinitionData } from '@looseleaf/core'
import {
  compareKeys,
  compareKeyValues,
  describeKind,
  type Direction,
  type Key,
  type KeyRange,
  type KeyValue,
  isPlainObject,
} from '@looseleaf/core/internal'
import { clip } from '../definitions/bad-index.ts'
import type { ExactRow } from '../keys/derive-rows.ts'
import { keyIdentity } from '../keys/key-identity.ts'
import { openIndex, type Cells, type OpenProperty } from '../keys/open-index.ts'
import { rangeOf } from './key-ranges.ts'
import { parseRange, type Bounds, type ExactBound } from './parse-range.ts'
import { refuse, valueOf } from './parse-value.ts'
import { servingIndexText } from './serving-index.ts'

/** A checked `where`: the ranges to scan, and the exact conditions. */
export interface ParsedWhere {
  /**
   * Ranges of the index that contain every matching row. If a bound is a long string, they contain a few other rows too. One range
   * without lists; with lists, one per combination of their values, so none for an empty list. In the order of the index, with distinct
   * prefixes of the same length.
   */
  readonly ranges: readonly KeyRange[]
  /** The exact prefix of each range: the whole strings of the leading properties. */
  readonly equal: readonly Key[]
  readonly lower: ExactBound | undefined
  readonly upper: ExactBound | undefined
  /** Number of leading properties with a value or a list. */
  readonly givenProperties: number
  /** Number of columns in the prefix of each range. */
  readonly depth: number
  /** Whether an entity may have rows in several ranges, because a list is on an array property. */
  readonly overlaps: boolean
  /** Directions of the columns of the index. */
  readonly directions: readonly Direction[]
}

/** Largest number of distinct values of a list, and of ranges of a query. */
export const MAX_RANGES = 100
/** Largest length of a list, repeats included. Bounds the work for a list that a client has sent. */
const MAX_LIST = 10_000

const VALUE = 'a value, a range such as { gte: … } or a list such as { in: [ … ] }'

/** Checks a `where` against an index. Throws `BAD_QUERY` with the index, the property and the expectation. */
export function parseWhere(definition: IndexDefinitionData, where: unknown): ParsedWhere {
  const { name: index } = definition
  const { properties, directions } = openIndex(definition)
  if (!isPlainObject(where)) {
    refuse(index, `needs an object of properties and values as its where; got ${describeKind(where)}`)
  }
  const refuseToServe = (problem: string): never => {
    const serving = servingIndexText(definition, where, parseWhere)
    refuse(index, serving === undefined ? problem : `${problem}. ${serving}`)
  }
  for (const name of Object.keys(where)) {
    if (properties.some((property) => property.name === name)) continue
    const { on = {} } = definition
    const value = Object.hasOwn(on, name) ? on[name] : undefined
    if (value !== undefined)
      refuse(
        index,
        `has ${clip(name)} in the \`on\` of its definition, so a query cannot name it: leave it out`,
      )
    refuseToServe(`has no property ${clip(name)}; it has ${properties.map((p) => p.name).join(', ')}`)
  }
  const choices: (readonly Cells[])[] = []
  let depth = 0
  const lists: string[] = []
  let overlaps = false
  let bounds: Bounds | undefined
  let rangeOn: string | undefined
  let missing: string | undefined
  for (const property of properties) {
    const { name } = property
    if (!Object.hasOwn(where, name)) {
      missing ??= name
      continue
    }
    if (rangeOn !== undefined) {
      refuse(
        index,
        `cannot use ${name} behind the range on ${rangeOn}: a range has to be on the last property`,
      )
    }
    if (missing !== undefined) {
      refuseToServe(`cannot use ${name} without a value of ${missing}, which stands before it`)
    }
    const condition = where[name]
    depth += property.present.length + 1
    if (!isPlainObject(condition)) {
      choices.push([valueOf(index, property, condition, VALUE)])
    } else if (Object.hasOwn(condition, 'in')) {
      const values = parseList(index, property, condition)
      choices.push(values)
      lists.push(name)
      overlaps ||= property.many && values.length > 1
    } else {
      bounds = parseRange(index, property, condition)
      rangeOn = name
      depth--
      // A range selects among present values.
      choices.push([{ value: property.present, exact: property.present }])
    }
  }
  const count = choices.reduce((product, { length }) => product * length, 1)
  if (count > MAX_RANGES) {
    refuse(
      index,
      `reads ${MAX_RANGES} ranges for a query at the most; the lists for ${lists.join(' and ')} make ${count}`,
    )
  }
  const prefixes = combinations(choices)
  return {
    ranges: prefixes.map(({ value }) => ({ prefix: value, ...bounds?.scan })),
    equal: prefixes.map(({ exact }) => exact),
    lower: bounds?.lower,
    upper: bounds?.upper,
    givenProperties: choices.length - (rangeOn === undefined ? 0 : 1),
    depth,
    overlaps,
    directions,
  }
}

/** Returns every concatenation of one choice per property; sorted if the choices of each property are. */
function combinations(choices: readonly (readonly Cells[])[]): readonly Cells[] {
  let prefixes: readonly Cells[] = [{ value: [], exact: [] }]
  for (const cells of choices) {
    const longer: Cells[] = []
    for (const { value, exact } of prefixes) {
      for (const next of cells)
        longer.push({ value: [...value, ...next.value], exact: [...exact, ...next.exact] })
    }
    prefixes = longer
  }
  return prefixes
}

/** Tells whether a row satisfies the query, by whole strings. */
export function satisfies({ ranges, equal, lower, upper, directions }: ParsedWhere, row: ExactRow): boolean {
  // The comparison below covers the prefix of a single range.
  const values = equal[ranges.length === 1 ? 0 : rangeOf(ranges, row.key, directions)]
  if (values === undefined) return false
  for (let i = 0; i < values.length; i++) {
    if (compareKeyValues(row.exact[i] as KeyValue, values[i] as KeyValue) !== 0) return false
  }
  if (lower === undefined && upper === undefined) return true
  const value = row.exact[values.length] as KeyValue
  if (lower !== undefined && !within(compareKeyValues(value, lower.value), lower)) return false
  return upper === undefined || within(compareKeyValues(upper.value, value), upper)
}

function within(distance: number, bound: ExactBound): boolean {
  return bound.inclusive ? distance >= 0 : distance > 0
}

/** Returns the distinct values of a list, sorted. An empty list has none, and matches nothing. */
function parseList(
  index: string,
  property: OpenProperty,
  condition: Record<string, unknown>,
): readonly Cells[] {
  const { name } = property
  if (Object.keys(condition).length > 1) refuse(index, `got in and other bounds for ${name}; it goes alone`)
  const list = condition['in']
  if (!Array.isArray(list)) {
    refuse(
      index,
      `needs an array of up to ${MAX_RANGES} values for in for ${name}; got ${describeKind(list)}`,
    )
  }
  const { length } = list
  if (length > MAX_LIST)
    refuse(index, `takes arrays of up to ${MAX_LIST} values for in for ${name}; got ${length}`)
  const distinct = new Map<string, Cells>()
  // Reads by number, because an array of the caller may have an iterator that does not end.
  let read = 0
  while (read < length && distinct.size <= MAX_RANGES) {
    const choice = valueOf(index, property, list[read++], 'values for in')
    distinct.set(keyIdentity(choice.value), choice)
  }
  if (distinct.size > MAX_RANGES) {
    const more = read < length ? ' and more' : ''
    refuse(
      index,
      `takes up to ${MAX_RANGES} different values for in for ${name}; got ${distinct.size}${more}`,
    )
  }
  return [...distinct.values()].toSorted((a, b) => compareKeys(a.value, b.value, property.directions))
}
