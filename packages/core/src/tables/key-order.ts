import { isBytes } from '../platform/kind-of-object.ts'
import type { IndexTableSpec, Key, KeyValue } from '../ports/index-table.ts'

/** Order of a column in its index: 1 for ascending, -1 for descending. */
export type Direction = 1 | -1

export function directionsOf(columns: IndexTableSpec['columns']): readonly Direction[] {
  return columns.map(({ order }) => (order === 'desc' ? -1 : 1))
}

/**
 * Compares two values of one column in the order of every database: numbers by size, bytes as unsigned values with a prefix
 * first. Returns a negative number, 0 or a positive number.
 */
export function compareKeyValues(a: KeyValue, b: KeyValue): number {
  // Rows of one scan share the value objects of its prefix.
  if (a === b) return 0
  if (isBytes(a)) return isBytes(b) ? Buffer.compare(a, b) : 1
  if (isBytes(b)) return -1
  return a < b ? -1 : a > b ? 1 : 0
}

/** Compares two keys of one index by column, each in its direction. A shorter key comes before the keys that it begins. */
export function compareKeys(a: Key, b: Key, directions: readonly Direction[]): number {
  const columns = Math.min(a.length, b.length)
  for (let i = 0; i < columns; i++) {
    const order = compareKeyValues(a[i] as KeyValue, b[i] as KeyValue)
    if (order !== 0) return order * (directions[i] as Direction)
  }
  return a.length - b.length
}
