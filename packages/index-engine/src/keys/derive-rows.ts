import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import { arrayOf, describeKind, type Key, type KeyValue } from '@looseleaf/core/internal'
import { isPath } from '../definitions/property-value.ts'
import { keyIdentity } from './key-identity.ts'
import { openIndex, type Cells, type OpenProperty } from './open-index.ts'

/** Largest number of rows of an entity in one index. An array with more distinct elements is a misfit. */
const MAX_ROWS_PER_ENTITY = 1000

/** A value that an index cannot hold. */
export interface Misfit {
  readonly property: string
  /** The expected type and the kind of value that came; never the value. */
  readonly reason: string
}

export interface DerivedRows {
  /** The distinct keys of the entity's rows, in the order of the array that they come from. */
  readonly keys: readonly Key[]
  readonly misfits: readonly Misfit[]
}

/** The key of a row. `exact` has the whole of each string, which a column may cut. */
export interface ExactRow {
  readonly key: Key
  readonly exact: Key
}

/**
 * Derives the rows of an entity in an index.
 *
 * The entity has neither rows nor misfits unless it has the values of `on` and a value for every property without `nulls`. Null and an
 * array without a non-null element are no values. So entities of other kinds may use the same names freely.
 *
 * A scalar for an array property is a misfit, and so is an array for a scalar property. A misfit gives no row; the other elements of
 * its array do.
 */
export function deriveRows(definition: IndexDefinitionData, bag: Bag): DerivedRows {
  const { rows, misfits } = deriveExactRows(definition, bag)
  if (rows.length === 0 && misfits.length === 0) return NO_KEYS
  return { keys: rows.map((row) => row.key), misfits }
}

/** Derives the keys that an entity with this bag claims in a unique index. */
export function deriveClaims(definition: IndexDefinitionData, bag: Bag): readonly Key[] {
  const { isClaimed } = openIndex(definition)
  return deriveRows(definition, bag).keys.filter(isClaimed)
}

/** Derives the rows, or the claims, of an entity in the table of a catalog entry. Only an entry of rows reports misfits. */
export function deriveEntryRows(entry: IndexDefinitionData, bag: Bag): DerivedRows {
  return entry.unique ? { keys: deriveClaims(entry, bag), misfits: [] } : deriveRows(entry, bag)
}

/** Derives rows like `deriveRows`, with the whole strings that a query compares. */
export function deriveExactRows(
  definition: IndexDefinitionData,
  bag: Bag,
): { readonly rows: readonly ExactRow[]; readonly misfits: readonly Misfit[] } {
  const { properties, isOf, types } = openIndex(definition)
  if (!isOf(bag)) return NOTHING
  const values = arrayOf<unknown>(properties.length)
  for (let i = 0; i < properties.length; i++) {
    const property = properties[i]!
    const value = property.read(bag)
    if (property.absent === undefined && !hasValue(property, value)) return NOTHING
    values[i] = value
  }

  const misfits: Misfit[] = []
  // At most one property is an array, so the rows differ in its columns alone.
  let elementCells: readonly Cells[] | undefined
  let elementColumn = 0
  let isComplete = true
  const arrayProperty = properties.find(({ many }) => many)
  const key = arrayOf<KeyValue>(types.length - (arrayProperty?.directions.length ?? 0))
  // The same array as the key, until a value is longer than its column.
  let exact = key
  let column = 0
  for (let i = 0; i < properties.length; i++) {
    const property = properties[i]!
    const cells = cellsOf(property, values[i], misfits)
    const first = cells[0]
    if (property === arrayProperty) {
      elementCells = cells
      elementColumn = column
    } else if (first === undefined) {
      isComplete = false
    } else {
      const { value, exact: whole } = first
      if (value !== whole && exact === key) exact = key.slice()
      for (let n = 0; n < value.length; n++, column++) {
        key[column] = value[n] as KeyValue
        exact[column] = whole[n] as KeyValue
      }
    }
  }
  if (!isComplete) return { rows: [], misfits }
  if (elementCells === undefined) return { rows: [{ key, exact }], misfits }
  const rows = elementCells.map((cells) => ({
    key: key.toSpliced(elementColumn, 0, ...cells.value),
    exact: exact.toSpliced(elementColumn, 0, ...cells.exact),
  }))
  return { rows, misfits }
}

/** Shared results: in a store with hundreds of indexes, an entity has no rows in most of them. */
const NOTHING = { rows: [], misfits: [] } as const
export const NO_KEYS: DerivedRows = { keys: [], misfits: [] }

function hasValue({ many }: OpenProperty, value: unknown): boolean {
  if (value === undefined || value === null) return false
  return !(many && Array.isArray(value)) || value.some((element) => element !== null && element !== undefined)
}

/** Returns the cells of each distinct value of a property. A scalar gives one, a misfit none. */
function cellsOf(property: OpenProperty, value: unknown, misfits: Misfit[]): readonly Cells[] {
  const { name, path, many, absent } = property
  if (absent !== undefined && !hasValue(property, value)) return [absent]
  if (!many) {
    const cells = property.toCells(value)
    if (!('misfit' in cells)) return [cells]
    misfits.push({ property: name, reason: cells.misfit })
    return []
  }
  if (!Array.isArray(value)) {
    misfits.push({ property: name, reason: `an array is expected, got ${describeKind(value)}` })
    return []
  }
  const distinct = new Map<string, Cells>()
  let reason: string | undefined
  for (const [i, element] of value.entries()) {
    if (element === null || element === undefined) continue
    const cells = property.toCells(element)
    // Along a path the number would not be that of an element of the bag.
    if ('misfit' in cells) reason ??= `${isPath(path) ? 'an element' : `element ${i}`}: ${cells.misfit}`
    else distinct.set(keyIdentity(cells.value), cells)
  }
  if (distinct.size > MAX_ROWS_PER_ENTITY) {
    reason = `at most ${MAX_ROWS_PER_ENTITY} different elements are expected, got ${distinct.size}`
    distinct.clear()
  }
  if (reason !== undefined) misfits.push({ property: name, reason })
  return [...distinct.values()]
}
