import { elapsedBy } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { purgeTombstones, type PurgeOptions } from './purge-tombstones.ts'

/** Purges old tombstones of all shards regularly. */
export interface Purger {
  /** Purges a bounded number of tombstones on each shard where a purge is due. Never rejects. */
  purgeDue(): Promise<void>
  readonly purged: number
}

/** Milliseconds between two purges of a shard without due tombstones. */
const EVERY_MS = 60_000

export function createPurger(
  context: EngineContext,
  { onError, ...options }: PurgeOptions & { readonly onError: (error: unknown) => void },
): Purger {
  const elapsed = elapsedBy(context.time)
  const dueAt = new Map<number, number>()
  let purged = 0

  async function purge(shard: number): Promise<void> {
    if (elapsed() < (dueAt.get(shard) ?? -Infinity)) return
    dueAt.set(shard, elapsed() + EVERY_MS)
    try {
      const outcome = await purgeTombstones(context, shard, options)
      purged += outcome.purged
      if (outcome.more) dueAt.delete(shard)
    } catch (error) {
      onError(error)
    }
  }

  return {
    get purged() {
      return purged
    },
    async purgeDue() {
      await Promise.all(presentNumbers(context.driver).map((shard) => purge(shard)))
    },
  }
}
