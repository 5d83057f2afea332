import { elapsedBy, getOrInsert, inBackground } from '@looseleaf/core/internal'
import {
  isRemoved,
  loadShardCatalog,
  presentEntries,
  type CatalogHolder,
  type EngineContext,
} from '@looseleaf/index-engine/internal'

/** Milliseconds between two checks of the list of shards, which send nothing. */
const CHECK_MS = 1_000
/** Milliseconds between two looks at a catalog, by all loops of a store together. */
const LOOK_MS = 5_000

export interface EachShardOptions {
  /** Ends the loop. */
  readonly signal: AbortSignal
  /** Begins the work on a shard, which may be a removed one. Its signal also fires when the shard is removed. Must not throw. */
  readonly begin: (shard: number, signal: AbortSignal) => void
}

/**
 * Begins work on every shard of a store: at once on those that it has, and within seconds on those that join later. Ends it within seconds
 * on one that is removed. A process that only follows changes sends nothing that carries an epoch, so this loop looks at the catalog for it.
 * Resolves when the signal has fired.
 */
export async function forEachShard(
  context: EngineContext,
  { signal, begin }: EachShardOptions,
): Promise<void> {
  const { shards } = context.driver
  // The loop alone does not keep the process alive.
  const time = inBackground(context.time)
  const ends: AbortController[] = []
  for (;;) {
    while (ends.length < shards.length && !signal.aborted) {
      const removed = new AbortController()
      begin(ends.push(removed) - 1, AbortSignal.any([signal, removed.signal]))
    }
    const { layout } = context.catalog.latest()
    for (const [number, end] of ends.entries()) if (isRemoved(layout, number)) end.abort()
    try {
      await time.sleep(CHECK_MS, signal)
    } catch {
      // The signal has fired.
    }
    if (signal.aborted) return
    await getOrInsert(looks, context.catalog, () => createLook(context))()
  }
}

const looks = new WeakMap<CatalogHolder, () => Promise<void>>()

/** Makes a look that reloads the catalog if another process has changed it. It never rejects. */
function createLook({ driver, catalog, time }: EngineContext): () => Promise<void> {
  const elapsed = elapsedBy(time)
  let lookedAt = elapsed()
  return async () => {
    if (elapsed() - lookedAt < LOOK_MS) return
    lookedAt = elapsed()
    // Any shard tells: a change of the catalog raises the epoch of all. The next one is asked if a shard does not answer.
    for (const [number, shard] of presentEntries(driver)) {
      try {
        const found = await loadShardCatalog(shard)
        if (found?.epoch !== catalog.latest().epochs[number]) await catalog.reload()
        return
      } catch {
        // Calls report the error.
      }
    }
  }
}
