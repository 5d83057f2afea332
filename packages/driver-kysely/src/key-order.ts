import { compareKeys, type Direction, type IndexRow, type IndexRowRemoval } from '@looseleaf/core'

/** Rows in the order of their table's key. Statements that lock rows in one order do not lock each other out. */
export function inOrder<Item extends IndexRow | IndexRowRemoval>(
  rows: readonly Item[],
  directions: readonly Direction[],
): readonly Item[] {
  if (rows.length < 2) return rows
  return rows.toSorted(
    (a, b) => compareKeys(a.key, b.key, directions) || Buffer.compare(a.entityId, b.entityId),
  )
}

/** The same for claims. Those of one key are one row, and stay in the order of the call: the first gets it. */
export function inKeyOrder(rows: readonly IndexRow[], directions: readonly Direction[]): readonly IndexRow[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key, directions))
}
