import {
  describeKind,
  type Bag,
  type IndexDefinitionData,
  type IndexedProperty,
  type Key,
} from '@looseleaf/core'
import type { KeyValue } from '@looseleaf/core'
import { keyIdentity } from './compare-keys.ts'
import { toKeyValue } from './key-value.ts'
import { isPath, propertyValue } from './property-value.ts'

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

interface KeyColumn {
  readonly value: KeyValue
  readonly exact: KeyValue
}

/**
 * The rows of an entity in an index. An entity is an index's business only if every indexed property is there, not null
 * and, where it is an array, has an element that is not null: otherwise there are neither rows nor misfits, so that
 * entities of other kinds may use the same names as they like. A scalar where the index has an array is a misfit, and
 * the reverse too. Misfits give no row; the other elements of an array still do.
 */
export function deriveRows(definition: IndexDefinitionData, bag: Bag): DerivedRows {
  const { rows, misfits } = deriveExactRows(definition, bag)
  return { keys: rows.map((row) => row.key), misfits }
}

/** As `deriveRows`, with what a query compares. */
export function deriveExactRows(
  definition: IndexDefinitionData,
  bag: Bag,
): { readonly rows: readonly ExactRow[]; readonly misfits: readonly Misfit[] } {
  const { properties } = definition
  const values = properties.map((property) => propertyValue(bag, property))
  if (!properties.every((property, i) => isThere(property, values[i]))) return { rows: [], misfits: [] }

  const misfits: Misfit[] = []
  // At most one property has several values, so the rows differ in one column.
  let elements: readonly KeyColumn[] = []
  let varying = -1
  const key: KeyValue[] = []
  const exact: KeyValue[] = []
  for (const [i, property] of properties.entries()) {
    const columns = columnsOf(property, values[i], misfits)
    const column = columns[0]
    if (property.many) {
      elements = columns
      varying = i
    }
    if (column === undefined) continue
    key.push(column.value)
    exact.push(column.exact)
  }
  // A property without a value has left its column out.
  if (key.length < properties.length) return { rows: [], misfits }
  if (varying === -1) return { rows: [{ key, exact }], misfits }
  const rows = elements.map(({ value, exact: whole }) => ({
    key: key.with(varying, value),
    exact: exact.with(varying, whole),
  }))
  return { rows, misfits }
}

function isThere({ many }: IndexedProperty, value: unknown): boolean {
  if (value === undefined || value === null) return false
  return !(many && Array.isArray(value)) || value.some((element) => element !== null && element !== undefined)
}

/** The different values of a property: none for a misfit, one for a scalar. */
function columnsOf(
  { name, type, many }: IndexedProperty,
  value: unknown,
  misfits: Misfit[],
): readonly KeyColumn[] {
  if (!many) {
    const result = toKeyValue(type, value)
    if (!('misfit' in result)) return [result]
    misfits.push({ property: name, reason: result.misfit })
    return []
  }
  if (!Array.isArray(value)) {
    misfits.push({ property: name, reason: `an array is expected, got ${describeKind(value)}` })
    return []
  }
  const columns = new Map<string, KeyColumn>()
  let reason: string | undefined
  for (const [i, element] of value.entries()) {
    if (element === null || element === undefined) continue
    const result = toKeyValue(type, element)
    if ('misfit' in result) reason ??= `${isPath(name) ? 'an element' : `element ${i}`}: ${result.misfit}`
    else columns.set(keyIdentity([result.value]), result)
  }
  if (columns.size > MAX_ROWS_PER_ENTITY) {
    reason = `at most ${MAX_ROWS_PER_ENTITY} different elements are expected, got ${columns.size}`
    columns.clear()
  }
  if (reason !== undefined) misfits.push({ property: name, reason })
  return [...columns.values()]
}
