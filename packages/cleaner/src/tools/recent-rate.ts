/** How fast something goes that is counted now and then. */
export interface RecentRate {
  count(more: number): void
  /** Per second, over the last while. */
  perSecond(): number
}

const LATELY_MS = 15_000

/** `elapsed`: milliseconds by a clock that nobody sets. */
export function createRecentRate(elapsed: () => number): RecentRate {
  const since = elapsed()
  let counted: { readonly at: number; readonly count: number }[] = []
  const forget = (now: number): void => {
    counted = counted.filter(({ at }) => now - at < LATELY_MS)
  }
  return {
    count(more) {
      const now = elapsed()
      forget(now)
      // What comes within one moment is one entry, so that short pages do not fill the memory.
      const last = counted.at(-1)
      if (last !== undefined && now - last.at < 100) {
        counted[counted.length - 1] = { at: last.at, count: last.count + more }
      } else counted.push({ at: now, count: more })
    },
    perSecond() {
      const now = elapsed()
      forget(now)
      const sum = counted.reduce((total, { count }) => total + count, 0)
      return (sum * 1000) / Math.max(1, Math.min(LATELY_MS, now - since))
    },
  }
}
