import {
  arrayOf,
  compareKeys,
  compareKeyValues,
  type Bag,
  type IndexDefinitionData,
  type Key,
  type KeyValue,
} from '@looseleaf/core'
import { deriveExactRows, type ExactRow } from './derive-rows.ts'
import { openIndex, type Cells, type OpenIndex } from './open-index.ts'
import { satisfies, type ParsedWhere } from './parse-where.ts'
import type { QueryOrder } from './query-types.ts'

/**
 * The key of the first row of a bag, in this order, that satisfies a query; undefined where none does. To be made for each
 * query: it remembers what values gave.
 */
export function answerKey(
  index: IndexDefinitionData,
  where: ParsedWhere,
  order: QueryOrder,
): (bag: Bag) => Key | undefined {
  const open = openIndex(index)
  if (!open.properties.some(({ many }) => many)) {
    const rowOf = onlyRow(open, where)
    return (bag) => {
      const row = rowOf(bag)
      return row !== undefined && satisfies(where, row) ? row.key : undefined
    }
  }
  return (bag) => {
    let first: Key | undefined
    for (const row of deriveExactRows(index, bag).rows) {
      if (!satisfies(where, row)) continue
      if (first === undefined || compareKeys(row.key, first, open.directions) < 0 === (order === 'asc'))
        first = row.key
    }
    return first
  }
}

/**
 * What `deriveExactRows` gives for an index without arrays, where an entity has one row or none. Entities of one page have
 * mostly the same values, so what a property gave last is kept: this takes a third of the time.
 */
function onlyRow(
  { properties, types, isOf }: OpenIndex,
  where: ParsedWhere,
): (bag: Bag) => ExactRow | undefined {
  const last = properties.map((): { given: unknown; cells: Cells | undefined } => ({
    given: undefined,
    cells: undefined,
  }))
  return (bag) => {
    if (!isOf(bag)) return undefined
    const key = arrayOf<KeyValue>(types.length)
    // The same as the key, until a value is longer than its column.
    let exact = key
    let at = 0
    for (let i = 0; i < properties.length; i++) {
      const property = properties[i]!
      const given = property.read(bag)
      let cells: Cells | undefined
      if (given === undefined || given === null) {
        cells = property.absent
      } else if (typeof given === 'object') {
        // It may be changed.
        cells = cellsOf(property.toCells(given))
      } else {
        const known = last[i]!
        if (known.given !== given) {
          known.given = given
          known.cells = asGiven(cellsOf(property.toCells(given)), at, where)
        }
        cells = known.cells
      }
      if (cells === undefined) return undefined
      const { value, exact: whole } = cells
      if (value !== whole && exact === key) exact = key.slice()
      for (let n = 0; n < value.length; n++, at++) {
        key[at] = value[n] as KeyValue
        exact[at] = whole[n] as KeyValue
      }
    }
    return { key, exact }
  }
}

/** Where a query gives the same values, its own, which its rows have too: two names of one object are quick to compare. */
function asGiven(cells: Cells | undefined, at: number, { ranges, equal }: ParsedWhere): Cells | undefined {
  const [range, whole] = [ranges[0], equal[0]]
  if (cells === undefined || range === undefined || whole === undefined || ranges.length > 1) return cells
  const end = at + cells.exact.length
  if (end > whole.length) return cells
  if (cells.exact.some((value, i) => compareKeyValues(value, whole[at + i]!) !== 0)) return cells
  const exact = whole.slice(at, end)
  return { exact, value: cells.value === cells.exact ? exact : range.prefix.slice(at, end) }
}

function cellsOf(found: Cells | { readonly misfit: string }): Cells | undefined {
  return 'misfit' in found ? undefined : found
}
