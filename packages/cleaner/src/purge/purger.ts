import { elapsedBy } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { purgeTombstones, type PurgeOptions } from './purge-tombstones.ts'

/** Purges tombstones of all shards from time to time. */
export interface Purger {
  /** Bounded work on each shard where it is due. Never rejects. */
  purgeDue(): Promise<void>
  /** Tombstones that it has deleted so far. */
  readonly purged: number
}

/** Between two looks at a shard where nothing is left to do. */
const EVERY_MS = 60_000

export function createPurger(
  context: EngineContext,
  { onError, ...options }: PurgeOptions & { readonly onError: (error: unknown) => void },
): Purger {
  const elapsed = elapsedBy(context.time)
  const dueAt = context.driver.shards.map(() => -Infinity)
  let purged = 0

  async function purge(shard: number): Promise<void> {
    if (elapsed() < (dueAt[shard] as number)) return
    dueAt[shard] = elapsed() + EVERY_MS
    try {
      const outcome = await purgeTombstones(context, shard, options)
      purged += outcome.purged
      if (outcome.more) dueAt[shard] = -Infinity
    } catch (error) {
      onError(error)
    }
  }

  return {
    get purged() {
      return purged
    },
    async purgeDue() {
      await Promise.all(dueAt.map((_, shard) => purge(shard)))
    },
  }
}
