import { compareKeys, compareKeyValues, type Direction } from '@looseleaf/core'
import type { RowPlace } from './cursor.ts'
import type { QueryOrder } from './query-types.ts'

/** The order of two rows of one index. Negative when `a` comes first. */
export type ComparePlaces = (a: RowPlace, b: RowPlace) => number

/** The order in which a query meets rows whose columns stand in these directions. */
export function placeOrder(directions: readonly Direction[], order: QueryOrder): ComparePlaces {
  const declared: ComparePlaces = (a, b) =>
    compareKeys(a.key, b.key, directions) || compareKeyValues(a.entityId, b.entityId)
  return order === 'asc' ? declared : (a, b) => declared(b, a)
}

/** Where in a list that is in this order a place stands, or would: behind all that come before it. */
export function indexOfPlace(
  rows: readonly RowPlace[],
  place: RowPlace,
  compare: ComparePlaces,
): { readonly at: number; readonly isThere: boolean } {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const distance = compare(rows[middle] as RowPlace, place)
    if (distance === 0) return { at: middle, isThere: true }
    if (distance < 0) low = middle + 1
    else high = middle
  }
  return { at: low, isThere: false }
}
