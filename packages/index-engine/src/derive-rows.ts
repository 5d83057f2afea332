import {
  arrayOf,
  describeKind,
  type Bag,
  type IndexDefinitionData,
  type Key,
  type KeyValue,
} from '@looseleaf/core'
import { keyIdentity } from './key-identity.ts'
import { openIndex, type Cells, type OpenProperty } from './open-index.ts'
import { isPath } from './property-value.ts'

/** Rows that an entity has in one index at the most; an array of more different elements is a misfit. */
export const MAX_ROWS_PER_ENTITY = 1000

/** A value that an index cannot hold. */
export interface Misfit {
  readonly property: string
  /** What was expected and what kind of value came. */
  readonly reason: string
}

export interface DerivedRows {
  /** The keys of the entity's rows, each once, in the order of the array that they come from. */
  readonly keys: readonly Key[]
  readonly misfits: readonly Misfit[]
}

/** A row's key, and the same with the whole of each string. */
export interface ExactRow {
  readonly key: Key
  readonly exact: Key
}

/**
 * The rows of an entity in an index. An entity is an index's business only if it has the values of `on`, and every indexed
 * property is there, not null and, where it is an array, has an element that is not null: otherwise there are neither rows nor misfits, so that
 * entities of other kinds may use the same names as they like. A property with `nulls` need not be there: its row says so. A scalar where the index has an array is a misfit, and
 * the reverse too. Misfits give no row; the other elements of an array still do.
 */
export function deriveRows(definition: IndexDefinitionData, bag: Bag): DerivedRows {
  const { rows, misfits } = deriveExactRows(definition, bag)
  if (rows.length === 0 && misfits.length === 0) return NO_KEYS
  return { keys: rows.map((row) => row.key), misfits }
}

/** The keys that an entity with this bag has to itself in a unique index. */
export function deriveClaims(definition: IndexDefinitionData, bag: Bag): readonly Key[] {
  const { isClaimed } = openIndex(definition)
  return deriveRows(definition, bag).keys.filter(isClaimed)
}

/** The rows of an entity in the table of a catalog entry, which may be one of claims; misfits are told with the rows alone. */
export function deriveEntryRows(entry: IndexDefinitionData, bag: Bag): DerivedRows {
  return entry.unique ? { keys: deriveClaims(entry, bag), misfits: [] } : deriveRows(entry, bag)
}

/** As `deriveRows`, with what a query compares. */
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
    if (property.absent === undefined && !holdsSomething(property, value)) return NOTHING
    values[i] = value
  }

  const misfits: Misfit[] = []
  // At most one property has several values, so the rows differ in one place.
  let varying: readonly Cells[] | undefined
  let split = 0
  let isWhole = true
  const varies = properties.find(({ many }) => many)
  const key = arrayOf<KeyValue>(types.length - (varies?.directions.length ?? 0))
  // The same as the key, until a value is longer than its column.
  let exact = key
  let at = 0
  for (let i = 0; i < properties.length; i++) {
    const property = properties[i]!
    const cells = cellsOf(property, values[i], misfits)
    const first = cells[0]
    if (property === varies) {
      varying = cells
      split = at
    } else if (first === undefined) {
      isWhole = false
    } else {
      const { value, exact: whole } = first
      if (value !== whole && exact === key) exact = key.slice()
      for (let n = 0; n < value.length; n++, at++) {
        key[at] = value[n] as KeyValue
        exact[at] = whole[n] as KeyValue
      }
    }
  }
  if (!isWhole) return { rows: [], misfits }
  if (varying === undefined) return { rows: [{ key, exact }], misfits }
  const rows = varying.map((cells) => ({
    key: key.toSpliced(split, 0, ...cells.value),
    exact: exact.toSpliced(split, 0, ...cells.exact),
  }))
  return { rows, misfits }
}

/** Of hundreds of indexes, most have nothing to do with an entity. */
const NOTHING = { rows: [], misfits: [] } as const
const NO_KEYS: DerivedRows = { keys: [], misfits: [] }

function holdsSomething({ many }: OpenProperty, value: unknown): boolean {
  if (value === undefined || value === null) return false
  return !(many && Array.isArray(value)) || value.some((element) => element !== null && element !== undefined)
}

/** What the different values of a property give: nothing for a misfit, one for a scalar. */
function cellsOf(property: OpenProperty, value: unknown, misfits: Misfit[]): readonly Cells[] {
  const { name, path, many, absent } = property
  if (absent !== undefined && !holdsSomething(property, value)) return [absent]
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
  const different = new Map<string, Cells>()
  let reason: string | undefined
  for (const [i, element] of value.entries()) {
    if (element === null || element === undefined) continue
    const cells = property.toCells(element)
    if ('misfit' in cells) reason ??= `${isPath(path) ? 'an element' : `element ${i}`}: ${cells.misfit}`
    else different.set(keyIdentity(cells.value), cells)
  }
  if (different.size > MAX_ROWS_PER_ENTITY) {
    reason = `at most ${MAX_ROWS_PER_ENTITY} different elements are expected, got ${different.size}`
    different.clear()
  }
  if (reason !== undefined) misfits.push({ property: name, reason })
  return [...different.values()]
}
