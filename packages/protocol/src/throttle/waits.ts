import type { Inlined } from '@looseleaf/core/internal'
/** Reasons why a cleaner waits instead of working on a shard. */
export const throttleReasons = ['rowsPerSecond', 'latency', 'lock waits', 'calls'] as const
export type ThrottleReason = (typeof throttleReasons)[number]

/** The main reason for recent waits, and their share of the time. */
export type Throttled = Inlined<{
  /** Undefined while the work does not wait. */
  readonly throttledBy: ThrottleReason | undefined
  /** Share of the time waited for that reason, from 0 to 1. */
  readonly waited: number
}>

export interface Waits {
  add(reason: ThrottleReason, milliseconds: number): void
  /** Returns the main reason and its share, over the last half minute. */
  recent(): Throttled
}

const RECENT_MS = 30_000
const LEAST_SHARE = 0.01

/** @param elapsed - returns milliseconds of a monotonic clock */
export function createWaits(elapsed: () => number): Waits {
  const since = elapsed()
  let waits: { readonly at: number; readonly reason: ThrottleReason; readonly milliseconds: number }[] = []
  return {
    add(reason, milliseconds) {
      const now = elapsed()
      waits = waits.filter(({ at }) => now - at < RECENT_MS)
      if (milliseconds > 0) waits.push({ at: now, reason, milliseconds })
    },
    recent() {
      const now = elapsed()
      const span = Math.min(RECENT_MS, now - since)
      const sums = throttleReasons.map((reason) => {
        const recent = waits.filter((wait) => wait.reason === reason && now - wait.at < RECENT_MS)
        return { reason, sum: recent.reduce((sum, { milliseconds }) => sum + milliseconds, 0) }
      })
      const [most] = sums.toSorted((a, b) => b.sum - a.sum)
      const waited = most === undefined || span <= 0 ? 0 : Math.min(1, most.sum / span)
      if (most === undefined || waited < LEAST_SHARE) return { throttledBy: undefined, waited: 0 }
      return { throttledBy: most.reason, waited: Math.round(waited * 100) / 100 }
    },
  }
}
