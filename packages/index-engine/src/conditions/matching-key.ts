import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import { arrayOf, compareKeys, compareKeyValues, type Key, type KeyValue } from '@looseleaf/core/internal'
import type { QueryOrder } from '../definitions/index-reader.ts'
import { deriveExactRows, type ExactRow } from '../keys/derive-rows.ts'
import { openIndex, type Cells, type OpenIndex } from '../keys/open-index.ts'
import { satisfies, type ParsedWhere } from './parse-where.ts'

/**
 * Returns a function that gives the key of a bag's first row, in this order, that satisfies a query; undefined if no row does.
 * The function caches the keys of values, so make one per query.
 */
export function matchingKey(
  index: IndexDefinitionData,
  where: ParsedWhere,
  order: QueryOrder,
): (bag: Bag) => Key | undefined {
  const opened = openIndex(index)
  if (!opened.properties.some(({ many }) => many)) {
    const rowOf = singleRow(opened, where)
    return (bag) => {
      const row = rowOf(bag)
      return row !== undefined && satisfies(where, row) ? row.key : undefined
    }
  }
  return (bag) => {
    let first: Key | undefined
    for (const row of deriveExactRows(index, bag).rows) {
      if (!satisfies(where, row)) continue
      if (first === undefined || compareKeys(row.key, first, opened.directions) < 0 === (order === 'asc'))
        first = row.key
    }
    return first
  }
}

/**
 * `deriveExactRows` for an index without arrays, where an entity has at most one row. Entities of one page mostly share values,
 * so each property caches the cells of its last value. This takes a third of the time.
 */
function singleRow(
  { properties, types, isOf }: OpenIndex,
  where: ParsedWhere,
): (bag: Bag) => ExactRow | undefined {
  const cache = properties.map((): { value: unknown; cells: Cells | undefined } => ({
    value: undefined,
    cells: undefined,
  }))
  return (bag) => {
    if (!isOf(bag)) return undefined
    const key = arrayOf<KeyValue>(types.length)
    // The same array as the key, until a value is longer than its column.
    let exact = key
    let column = 0
    for (let i = 0; i < properties.length; i++) {
      const property = properties[i]!
      const value = property.read(bag)
      let cells: Cells | undefined
      if (value === undefined || value === null) {
        cells = property.absent
      } else if (typeof value === 'object') {
        // An object is mutable, so its identity does not stand for its value.
        cells = cellsOf(property.toCells(value))
      } else {
        const cached = cache[i]!
        if (cached.value !== value) {
          cached.value = value
          cached.cells = shareWithQuery(cellsOf(property.toCells(value)), column, where)
        }
        cells = cached.cells
      }
      if (cells === undefined) return undefined
      const { value: stored, exact: whole } = cells
      if (stored !== whole && exact === key) exact = key.slice()
      for (let n = 0; n < stored.length; n++, column++) {
        key[column] = stored[n] as KeyValue
        exact[column] = whole[n] as KeyValue
      }
    }
    return { key, exact }
  }
}

/** Replaces cells by the equal ones of the query, if there are any: comparing an object with itself is quick. */
function shareWithQuery(
  cells: Cells | undefined,
  start: number,
  { ranges, equal }: ParsedWhere,
): Cells | undefined {
  const [range, whole] = [ranges[0], equal[0]]
  if (cells === undefined || range === undefined || whole === undefined || ranges.length > 1) return cells
  const end = start + cells.exact.length
  if (end > whole.length) return cells
  if (cells.exact.some((value, i) => compareKeyValues(value, whole[start + i]!) !== 0)) return cells
  const exact = whole.slice(start, end)
  return { exact, value: cells.value === cells.exact ? exact : range.prefix.slice(start, end) }
}

function cellsOf(result: Cells | { readonly misfit: string }): Cells | undefined {
  return 'misfit' in result ? undefined : result
}
