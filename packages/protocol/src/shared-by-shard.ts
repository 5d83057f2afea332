import type { CallOptions } from '@looseleaf/core'
import { getOrInsert, untilAborted } from '@looseleaf/core/internal'
import { createSharedReading, type EngineContext } from '@looseleaf/index-engine/internal'

/** Work on a shard. A signal ends the wait of its own call only. */
export type SharedWork = (context: EngineContext, shard: number, options?: CallOptions) => Promise<void>

/**
 * Lets the calls of a process share work on a shard: calls while it is under way share the next round, which starts after them.
 */
export function sharedByShard(work: (context: EngineContext, shard: number) => Promise<void>): SharedWork {
  const stores = new WeakMap<EngineContext, Map<number, () => Promise<void>>>()
  return (context, shard, options) => {
    const rounds = getOrInsert(stores, context, () => new Map())
    const round = getOrInsert(rounds, shard, () => createSharedReading(() => work(context, shard)))
    return untilAborted(round(), options?.signal)
  }
}
