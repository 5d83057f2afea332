import type { StoreEvent } from 'looseleaf'

/** Counts for one index in this process. */
export interface RowCount {
  /** Number of times that a query has discarded a row. */
  readonly discarded: number
  /** Rows that cleaners have deleted, by cleaning the index or by following writes. The latter includes the tombstones of a cleaning. */
  readonly removed: number
}

/** Observer that counts discarded and deleted rows by index. */
export interface RowCounts {
  happened(event: StoreEvent): void
  /** Returns the counts of an index by its name. */
  of(index: string): RowCount
}

export function createRowCounts(): RowCounts {
  // Bounded by the number of indexes.
  const counts = new Map<string, { discarded: number; removed: number }>()

  function add(index: string, discarded: number, removed: number): void {
    const count = counts.get(index) ?? { discarded: 0, removed: 0 }
    counts.set(index, { discarded: count.discarded + discarded, removed: count.removed + removed })
  }

  return {
    happened(event) {
      if (event.kind === 'discarded') add(event.index, event.rows, 0)
      else if (event.kind === 'cleaned') add(event.index, 0, event.removed)
      else if (event.kind === 'round')
        for (const [index, removed] of event.removedByIndex) add(index, 0, removed)
    },
    of: (index) => counts.get(index) ?? { discarded: 0, removed: 0 },
  }
}
