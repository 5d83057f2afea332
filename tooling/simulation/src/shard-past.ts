import type { ReferenceShard, ShardState } from '@looseleaf-tooling/reference-driver'
import type { Random } from '@looseleaf-tooling/random'

/** What a shard held, change by change: what a replica that lags may hold still. */
export interface ShardPast {
  /** The oldest first; another list after the shard has fallen back, while the one before says what its old server had. */
  readonly moments: readonly ShardMoment[]
  /** After every change of the shard. */
  remember(now: number): void
  /** Fails over to a replica that lags by less than this many milliseconds. False where it had got everything. */
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
      // A state is within the lag if it was replaced within it.
      const first = moments.findIndex((_, i) => (moments[i + 1]?.since ?? Infinity) > now - lagMs)
      const choices = moments.length - 1 - first
      if (choices <= 0) return false
      const chosen = first + random.below(choices)
      shard.fallBack((moments[chosen] as ShardMoment).state, what)
      // The new server's past is this one; what the old one went through since never was.
      moments = moments.slice(0, chosen + 1)
      return true
    },
  }
}
