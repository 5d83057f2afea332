/** How often something may be done: so many at once, and one more after each pause. */
export interface Rate {
  readonly atOnce: number
  readonly pauseMs: number
}

/** Something that is counted for somebody, such as the posts of one session. */
export interface Claim {
  readonly key: string
  readonly rate: Rate
}

export interface RateLimiter {
  /** Counts one for every claim and answers 0; or counts nothing and answers how many milliseconds are to be waited. */
  take(claims: readonly Claim[]): number
}

/** Keys that are remembered; beyond it, the one that was not used for longest is forgotten. */
const MOST_KEYS = 20_000

/** A token bucket for each key, in memory: of one process, and empty of all memory when that starts. */
export function createRateLimiter(now: () => number): RateLimiter {
  /** When the bucket of a key will be full again, the key used last at the end; one that is not here is full. */
  const fullAt = new Map<string, number>()

  function untilFull({ key, rate }: Claim, at: number): number {
    // A clock that was set back makes nobody wait for longer than an empty bucket does.
    return Math.min(Math.max(0, (fullAt.get(key) ?? 0) - at), rate.atOnce * rate.pauseMs)
  }

  function count(claim: Claim, at: number): void {
    const time = at + untilFull(claim, at) + claim.rate.pauseMs
    fullAt.delete(claim.key)
    fullAt.set(claim.key, time)
    if (fullAt.size > MOST_KEYS) fullAt.delete(fullAt.keys().next().value as string)
  }

  return {
    take(claims) {
      const at = now()
      const waits = claims.map((claim) => untilFull(claim, at) - (claim.rate.atOnce - 1) * claim.rate.pauseMs)
      const longest = Math.max(0, ...waits)
      if (longest > 0) return longest
      for (const claim of claims) count(claim, at)
      return 0
    },
  }
}
