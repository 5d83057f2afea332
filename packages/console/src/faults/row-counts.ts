import type { StoreEvent } from '@looseleaf/core'

/** Of one index, in this process and since it was opened. */
export interface RowCount {
  /** Rows that queries have met and that led to nothing on their pages. */
  readonly discarded: number
  /** Rows that cleaners have deleted, in a cleaning of the index or while they followed writes: a cleaning writes tombstones, which are followed too. */
  readonly removed: number
}

/** An observer that counts, by index, the rows that lead to nothing: how often queries met them, and how many were cleaned away. */
export interface RowCounts {
  happened(event: StoreEvent): void
  /** By the name of an index. */
  of(index: string): RowCount
}

export function createRowCounts(): RowCounts {
  // As many as the catalog has indexes.
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
