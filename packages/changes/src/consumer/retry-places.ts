import pLimit from 'p-limit'

/** What one shard has of the places of handlers that are for retries. */
export interface RetryPlaces {
  /** How many could begin now, once it is known whether the shard has any. */
  free(hasRetries: boolean): number
  /** Waits for a place of the shard's own, and then, unless it is too late, for one of all. Answers false where it was too late. */
  take<T>(isLate: () => boolean, begin: () => Promise<T>): Promise<T | false>
}

/**
 * Half of the handlers of a process, in equal shares of the shards that have retries: the others are for new changes, however long those take
 * that fail. Answers what makes a shard's.
 */
export function createRetryPlaces(concurrency: number): () => RetryPlaces {
  const all = pLimit(Math.max(1, Math.floor(concurrency / 2)))
  const sharing = new Set<RetryPlaces>()
  return () => {
    const own = pLimit(all.concurrency)
    const places: RetryPlaces = {
      free(hasRetries) {
        if (hasRetries) sharing.add(places)
        else sharing.delete(places)
        own.concurrency = Math.max(1, Math.floor(all.concurrency / Math.max(1, sharing.size)))
        return Math.max(0, own.concurrency - own.activeCount - own.pendingCount)
      },
      // Not too late any more in the line of all: among many shards nobody would come to its end.
      take: (isLate, begin) => own(async () => !isLate() && (await all(begin))),
    }
    return places
  }
}
