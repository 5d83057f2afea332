import type { ReferenceShard, ShardState } from '@looseleaf-tooling/reference-driver'
import type { Random } from '@looseleaf-tooling/random'

/** What a shard held, change by change: what a replica that lags may hold still. */
export interface ShardPast {
  /** After every change of the shard. */
  remember(now: number): void
  /** Fails over to a replica that lags by less than this many milliseconds. False where it had got everything. */
  fallBack(now: number, lagMs: number, what: 'entities' | 'everything', random: Random): boolean
}

interface Moment {
  readonly since: number
  readonly state: ShardState
}

export function createShardPast(shard: Pick<ReferenceShard, 'state' | 'fallBack'>): ShardPast {
  let moments: Moment[] = []
  return {
    remember: (since) => void moments.push({ since, state: shard.state() }),
    fallBack(now, lagMs, what, random) {
      // A state is within the lag if it was replaced within it.
      const first = moments.findIndex((_, i) => (moments[i + 1]?.since ?? Infinity) > now - lagMs)
      const choices = moments.length - 1 - first
      if (choices <= 0) return false
      const chosen = first + random.below(choices)
      shard.fallBack((moments[chosen] as Moment).state, what)
      // The new server's past is this one; what the old one went through since never was.
      moments = moments.slice(0, chosen + 1)
      return true
    },
  }
}
