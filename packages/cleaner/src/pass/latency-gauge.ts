/**
 * Tells how much slower a shard answers than when it is left alone. Statements are compared with others of their kind, so a
 * long page is not taken for a slow one.
 */
export interface LatencyGauge {
  /** Takes in how long a statement of this kind took, in milliseconds; answers how long to leave the shard alone for it. */
  took(kind: string, milliseconds: number): number
}

/** Median of so many: one slow answer says nothing, three of five do. */
const LATELY = 5
/** A shard that takes less than twice as long as when it is left alone is not in need. */
const SLOWER = 2
/** What is faster than this is as good as at once, in milliseconds: its ups and downs are the machine's. */
const AT_ONCE_MS = 2.5
/** However slow a shard is, a tenth of the time is worked on it: work that stands still helps nobody. */
const MAX_PAUSES = 9
const MAX_PAUSE_MS = 1_000
/** What a shard takes when left alone is forgotten by as much as twice in so long: tables grow, and caches go cold. */
const FORGOTTEN_MS = 600_000

interface StatementLatency {
  readonly lately: number[]
  /** The least median so far, and when it was told or forgotten a little last. */
  calm: number
  at: number
}

/** `elapsed`: milliseconds by a clock that nobody sets. */
export function createLatencyGauge(elapsed: () => number): LatencyGauge {
  const kinds = new Map<string, StatementLatency>()
  return {
    took(name, milliseconds) {
      const now = elapsed()
      const kind = kinds.get(name) ?? { lately: [], calm: Infinity, at: now }
      kinds.set(name, kind)
      kind.lately.push(milliseconds)
      if (kind.lately.length > LATELY) kind.lately.shift()
      if (kind.lately.length < LATELY) return 0
      const median = medianOf(kind.lately)
      kind.calm = Math.min(median, kind.calm * 2 ** ((now - kind.at) / FORGOTTEN_MS))
      kind.at = now
      const allowed = SLOWER * Math.max(kind.calm, AT_ONCE_MS)
      const pauses = Math.min(MAX_PAUSES, Math.max(0, median / allowed - 1))
      return Math.min(MAX_PAUSE_MS, median * pauses)
    },
  }
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
