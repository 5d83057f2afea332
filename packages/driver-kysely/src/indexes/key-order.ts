import { compareKeys, type Direction, type IndexRow, type IndexScan } from '@looseleaf/core/internal'

/** Sorts rows by their table's key. Statements that lock rows in the same order cannot deadlock. */
export function sortedByKey<Item extends Pick<IndexRow, 'key' | 'entityId'>>(
  rows: readonly Item[],
  directions: readonly Direction[],
): readonly Item[] {
  if (rows.length < 2) return rows
  return rows.toSorted(
    (a, b) => compareKeys(a.key, b.key, directions) || Buffer.compare(a.entityId, b.entityId),
  )
}

/** Sorts the rows of a scan, if they are not sorted: no database promises an order for the rows of a UNION. */
export function sortedByScan<Row extends IndexRow>(
  rows: readonly Row[],
  order: IndexScan['order'],
  directions: readonly Direction[],
): readonly Row[] {
  const sign = order === 'asc' ? 1 : -1
  const compare = (a: Row, b: Row): number =>
    sign * (compareKeys(a.key, b.key, directions) || Buffer.compare(a.entityId, b.entityId))
  for (let i = 1; i < rows.length; i++) {
    if (compare(rows[i - 1]!, rows[i]!) > 0) return rows.toSorted(compare)
  }
  return rows
}

/** Sorts claims by their key. Claims of one key stay in the order of the call, whose first one gets the key. */
export function claimsByKey(
  rows: readonly IndexRow[],
  directions: readonly Direction[],
): readonly IndexRow[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key, directions))
}
