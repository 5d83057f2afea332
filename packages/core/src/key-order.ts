import { isBytes } from './kind-of-object.ts'
import type { IndexTableSpec, Key, KeyValue } from './ports/index-table.ts'

/** Which way a column stands in its index: 1 from low to high, -1 from high to low. */
export type Direction = 1 | -1

/** The directions of an index's columns, in the order of its key. */
export function directionsOf(columns: IndexTableSpec['columns']): readonly Direction[] {
  return columns.map(({ order }) => (order === 'desc' ? -1 : 1))
}

/**
 * The order of two values of one column, as all databases have it: numbers by size, bytes by their unsigned values and
 * a beginning before what goes on. Negative, 0 or positive.
 */
export function compareKeyValues(a: KeyValue, b: KeyValue): number {
  // Rows of one scan share the values that they were asked for by.
  if (a === b) return 0
  if (isBytes(a)) return isBytes(b) ? Buffer.compare(a, b) : 1
  if (isBytes(b)) return -1
  return a < b ? -1 : a > b ? 1 : 0
}

/** The order of two keys of one index, column by column, each in its direction; a key that ends first comes first. */
export function compareKeys(a: Key, b: Key, directions: readonly Direction[]): number {
  const columns = Math.min(a.length, b.length)
  for (let i = 0; i < columns; i++) {
    const order = compareKeyValues(a[i] as KeyValue, b[i] as KeyValue)
    if (order !== 0) return order * (directions[i] as Direction)
  }
  return a.length - b.length
}
