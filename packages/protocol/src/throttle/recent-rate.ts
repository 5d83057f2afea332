export interface RecentRate {
  count(more: number): void
  /** Returns the items per second, over the last 15 seconds. */
  perSecond(): number
}

const RECENT_MS = 15_000

/** @param elapsed - returns milliseconds of a monotonic clock */
export function createRecentRate(elapsed: () => number): RecentRate {
  const since = elapsed()
  let counted: { readonly at: number; readonly count: number }[] = []
  const forget = (now: number): void => {
    counted = counted.filter(({ at }) => now - at < RECENT_MS)
  }
  return {
    count(more) {
      const now = elapsed()
      forget(now)
      // Counts within 100 ms share an entry, so that short pages do not fill the memory.
      const last = counted.at(-1)
      if (last !== undefined && now - last.at < 100) {
        counted[counted.length - 1] = { at: last.at, count: last.count + more }
      } else counted.push({ at: now, count: more })
    },
    perSecond() {
      const now = elapsed()
      forget(now)
      const sum = counted.reduce((total, { count }) => total + count, 0)
      return (sum * 1000) / Math.max(1, Math.min(RECENT_MS, now - since))
    },
  }
}
