import type { IndexRow, IndexRowRemoval, Key, KeyValue } from '@looseleaf/core'

/** Statements that lock rows in one order do not lock each other out. */
export function inOrder<Item extends IndexRow | IndexRowRemoval>(rows: readonly Item[]): readonly Item[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key) || Buffer.compare(a.entityId, b.entityId))
}

/** The same for claims. Those of one key are one row, and stay in the order of the call: the first gets it. */
export function inKeyOrder(rows: readonly IndexRow[]): readonly IndexRow[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key))
}

function compareKeys(a: Key, b: Key): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as KeyValue
    const y = b[i] as KeyValue
    const order =
      x instanceof Uint8Array
        ? Buffer.compare(x, y as Uint8Array)
        : x < (y as typeof x)
          ? -1
          : x > (y as typeof x)
            ? 1
            : 0
    if (order !== 0) return order
  }
  return 0
}
