import { compareKeys, compareKeyValues, type Direction } from '@looseleaf/core/internal'
import type { QueryOrder } from '../definitions/index-reader.ts'
import type { RowPlace } from './cursor.ts'

/** Compares two rows of one index. Negative if `a` comes first. */
export type ComparePlaces = (a: RowPlace, b: RowPlace) => number

/** Returns the order in which a query reads rows whose columns have these directions. */
export function placeOrder(directions: readonly Direction[], order: QueryOrder): ComparePlaces {
  const declared: ComparePlaces = (a, b) =>
    compareKeys(a.key, b.key, directions) || compareKeyValues(a.entityId, b.entityId)
  return order === 'asc' ? declared : (a, b) => declared(b, a)
}

/** Finds the position of a place in a sorted list, or the position at which it would stand. */
export function findPlace(
  rows: readonly RowPlace[],
  place: RowPlace,
  compare: ComparePlaces,
): { readonly position: number; readonly isFound: boolean } {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const distance = compare(rows[middle] as RowPlace, place)
    if (distance === 0) return { position: middle, isFound: true }
    if (distance < 0) low = middle + 1
    else high = middle
  }
  return { position: low, isFound: false }
}
