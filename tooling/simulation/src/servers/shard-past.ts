import type { ReferenceShard, ShardState } from '@looseleaf-tooling/kit/reference-driver'
import type { Random } from '@looseleaf-tooling/kit/random'

/** All past states of a shard; a lagging replica may still hold one of them. */
export interface ShardPast {
  /** Oldest first. A fall-back starts a new list; the old list stays what the old server had. */
  readonly moments: readonly ShardMoment[]
  /** Call after every change of the shard. */
  remember(now: number): void
  /**
   * Fails over to a replica that lags by less than this many milliseconds. Returns false if the replica had
   * everything.
   */
  fallBack(now: number, lagMs: number, what: 'entities' | 'everything', random: Random): boolean
}

export interface ShardMoment {
  readonly since: number
  readonly state: ShardState
}

export function createShardPast(shard: Pick<ReferenceShard, 'state' | 'fallBack'>): ShardPast {
  let moments: ShardMoment[] = []
  return {
    get moments() {
      return moments
    },
    remember: (since) => void moments.push({ since, state: shard.state() }),
    fallBack(now, lagMs, what, random) {
      // A state is within the lag if it was replaced within the lag.
      const first = moments.findIndex((_, i) => (moments[i + 1]?.since ?? Infinity) > now - lagMs)
      const choices = moments.length - 1 - first
      if (choices <= 0) return false
      const chosen = first + random.below(choices)
      shard.fallBack((moments[chosen] as ShardMoment).state, what)
      // The new server has only this past; later states of the old server never existed for it.
      moments = moments.slice(0, chosen + 1)
      return true
    },
  }
}
