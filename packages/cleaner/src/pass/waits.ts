/** Why the cleaner waits instead of working on a shard. */
export const throttleReasons = ['rowsPerSecond', 'latency', 'lock waits'] as const
export type ThrottleReason = (typeof throttleReasons)[number]

/** What holds work on a shard up most, and for how much of the time lately. */
export interface Throttled {
  /** Undefined while nothing does. */
  readonly throttledBy: ThrottleReason | undefined
  /** Share of the time waited for that reason, from 0 to 1. */
  readonly waited: number
}

/** Waits of one shard. */
export interface Waits {
  add(reason: ThrottleReason, milliseconds: number): void
  /** Over the last half a minute. */
  lately(): Throttled
}

const LATELY_MS = 30_000
/** A share below this is not worth a word. */
const LEAST_SHARE = 0.01

/** `elapsed`: milliseconds by a clock that nobody sets. */
export function createWaits(elapsed: () => number): Waits {
  const since = elapsed()
  let waits: { readonly at: number; readonly reason: ThrottleReason; readonly milliseconds: number }[] = []
  return {
    add(reason, milliseconds) {
      const now = elapsed()
      waits = waits.filter(({ at }) => now - at < LATELY_MS)
      if (milliseconds > 0) waits.push({ at: now, reason, milliseconds })
    },
    lately() {
      const now = elapsed()
      const span = Math.min(LATELY_MS, now - since)
      const sums = throttleReasons.map((reason) => {
        const own = waits.filter((wait) => wait.reason === reason && now - wait.at < LATELY_MS)
        return { reason, sum: own.reduce((sum, { milliseconds }) => sum + milliseconds, 0) }
      })
      const [most] = sums.toSorted((a, b) => b.sum - a.sum)
      const waited = most === undefined || span <= 0 ? 0 : Math.min(1, most.sum / span)
      if (most === undefined || waited < LEAST_SHARE) return { throttledBy: undefined, waited: 0 }
      return { throttledBy: most.reason, waited: Math.round(waited * 100) / 100 }
    },
  }
}
