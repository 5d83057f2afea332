/** A rate: `atOnce` acts without waiting, and one more after each pause. */
export interface Rate {
  readonly atOnce: number
  readonly pauseMs: number
}

/** A limit for one key, such as the posts of one session. */
export interface Quota {
  readonly key: string
  readonly rate: Rate
}

export interface RateLimiter {
  /** Counts one act for all quotas and returns 0. If one of them is used up, counts nothing and returns the wait in milliseconds. */
  take(quotas: readonly Quota[]): number
}

/** Largest number of remembered keys. Beyond it, the least recently used key is forgotten. */
const MAX_KEYS = 20_000

/** Creates a limiter with a token bucket per key. Buckets are in the memory of this process and are lost when it ends. */
export function createRateLimiter(now: () => number): RateLimiter {
  /** Time at which each key's bucket is full again. The most recently used key is last. A missing key has a full bucket. */
  const fullAt = new Map<string, number>()

  function untilFull({ key, rate }: Quota, at: number): number {
    // If the clock was set back, the wait is at most that of an empty bucket.
    return Math.min(Math.max(0, (fullAt.get(key) ?? 0) - at), rate.atOnce * rate.pauseMs)
  }

  function count(quota: Quota, at: number): void {
    const time = at + untilFull(quota, at) + quota.rate.pauseMs
    fullAt.delete(quota.key)
    fullAt.set(quota.key, time)
    if (fullAt.size > MAX_KEYS) fullAt.delete(fullAt.keys().next().value as string)
  }

  return {
    take(quotas) {
      const at = now()
      const waits = quotas.map((quota) => untilFull(quota, at) - (quota.rate.atOnce - 1) * quota.rate.pauseMs)
      const longest = Math.max(0, ...waits)
      if (longest > 0) return longest
      for (const quota of quotas) count(quota, at)
      return 0
    },
  }
}
