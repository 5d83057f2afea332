import pLimit from 'p-limit'

/** Slots in which handlers of one shard may retry failing changes. */
export interface RetrySlots {
  /** Tells this shard whether it has retries, and returns how many of them can begin now. */
  free(hasRetries: boolean): number
  /** Waits for a slot of the shard, then for one of the process. Resolves to false, without a slot, if `isLate` returns true in between. */
  take<T>(isLate: () => boolean, begin: () => Promise<T>): Promise<T | false>
}

/**
 * Reserves half of the handlers of a process for new changes, so that slow retries cannot take them all. The other half is divided equally
 * among the shards that have retries. Returns a function that creates the slots of one shard.
 */
export function createRetrySlots(concurrency: number): () => RetrySlots {
  const processSlots = pLimit(Math.max(1, Math.floor(concurrency / 2)))
  const sharing = new Set<RetrySlots>()
  return () => {
    const shardSlots = pLimit(processSlots.concurrency)
    const slots: RetrySlots = {
      free(hasRetries) {
        if (hasRetries) sharing.add(slots)
        else sharing.delete(slots)
        shardSlots.concurrency = Math.max(1, Math.floor(processSlots.concurrency / Math.max(1, sharing.size)))
        return Math.max(0, shardSlots.concurrency - shardSlots.activeCount - shardSlots.pendingCount)
      },
      // `isLate` is not checked again in the queue of the process: with many shards no retry would reach its end.
      take: (isLate, begin) => shardSlots(async () => !isLate() && (await processSlots(begin))),
    }
    return slots
  }
}
