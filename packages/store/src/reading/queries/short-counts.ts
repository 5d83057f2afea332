/** Knows of each index table whether most of its last counts were short. */
export interface ShortCounts {
  /** True if a count is likely to be short, so that its rows should be read at once. True for the first count. */
  areLikely(table: string): boolean
  learn(table: string, isShort: boolean): void
}

/** A count changes the share of short ones by one in so many. */
const WINDOW = 16

export function createShortCounts(): ShortCounts {
  const shares = new Map<string, number>()
  return {
    areLikely: (table) => (shares.get(table) ?? 1) >= 0.5,
    learn(table, isShort) {
      const share = shares.get(table) ?? 1
      shares.set(table, share + ((isShort ? 1 : 0) - share) / WINDOW)
    },
  }
}
