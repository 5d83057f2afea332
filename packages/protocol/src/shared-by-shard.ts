import type { CallOptions } from '@looseleaf/core'
import { untilAborted } from '@looseleaf/core/internal'
import { createSharedReading, type EngineContext } from '@looseleaf/index-engine/internal'

/** Work on a shard. A signal ends the wait of its own call only. */
export type SharedWork = (context: EngineContext, shard: number, options?: CallOptions) => Promise<void>

/**
 * Lets the calls of a process share work on a shard: calls while it is under way share the next round, which starts after them.
 */
export function sharedByShard(work: (context: EngineContext, shard: number) => Promise<void>): SharedWork {
  const stores = new WeakMap<EngineContext, Map<number, () => Promise<void>>>()
  return (context, shard, options) => {
    const rounds = stores.get(context) ?? new Map<number, () => Promise<void>>()
    const round = rounds.get(shard) ?? createSharedReading(() => work(context, shard))
    stores.set(context, rounds.set(shard, round))
    return untilAborted(round(), options?.signal)
  }
}
