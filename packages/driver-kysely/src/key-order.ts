import {
  compareKeys,
  type Direction,
  type IndexRow,
  type IndexRowRemoval,
  type IndexScan,
} from '@looseleaf/core'

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

/** Rows as a scan gives them. They come in this order mostly, but no database promises to keep that of the parts of a UNION. */
export function inScanOrder(
  rows: readonly IndexRow[],
  order: IndexScan['order'],
  directions: readonly Direction[],
): readonly IndexRow[] {
  const sign = order === 'asc' ? 1 : -1
  const compare = (a: IndexRow, b: IndexRow): number =>
    sign * (compareKeys(a.key, b.key, directions) || Buffer.compare(a.entityId, b.entityId))
  for (let i = 1; i < rows.length; i++) {
    if (compare(rows[i - 1]!, rows[i]!) > 0) return rows.toSorted(compare)
  }
  return rows
}

/** As `inOrder`, for claims. Those of one key are one row, and stay in the order of the call: the first gets it. */
export function inKeyOrder(rows: readonly IndexRow[], directions: readonly Direction[]): readonly IndexRow[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key, directions))
}
