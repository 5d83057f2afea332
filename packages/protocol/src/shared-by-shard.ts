import type { CallOptions } from '@looseleaf/core'
import { untilAborted } from '@looseleaf/core/internal'
import { createSharedReading, type EngineContext } from '@looseleaf/index-engine/internal'

/**
 * Lets the calls of a process share work on a shard: calls while it is under way share the next round, which starts after them. A signal
 * ends the wait of its own call only.
 */
export function sharedByShard(
  work: (context: EngineContext, shard: number) => Promise<void>,
): (context: EngineContext, shard: number, options?: CallOptions) => Promise<void> {
  const stores = new WeakMap<EngineContext, Map<number, () => Promise<void>>>()
  return (context, shard, options) => {
    const rounds = stores.get(context) ?? new Map<number, () => Promise<void>>()
    const round = rounds.get(shard) ?? createSharedReading(() => work(context, shard))
    stores.set(context, rounds.set(shard, round))
    return untilAborted(round(), options?.signal)
  }
}
