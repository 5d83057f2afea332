import type { CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { sharedByShard } from '../shared-by-shard.ts'
import { beginTarget } from './begin-target.ts'
import { noteWait } from './noted-waits.ts'
import { untilUnsealed } from './sealed-shards.ts'

/** Milliseconds that one write waits for sealed buckets in all, before it has the seal taken away. */
const PATIENCE_MS = 1_000
/** Milliseconds before a call looks again at a bucket that its new shard cannot begin to serve yet. */
const PAUSE_MS = 50
/** Milliseconds before each look for which a call leaves it to the mover to begin a bucket. A mover needs one statement for that. */
const MOVER_PAUSES_MS = [1, 2, 4, 8, 16]

/**
 * Waits once for the bucket of an entity that `isWritable` by this catalog denies. The process's catalog has changed when it resolves, so take
 * the entity's shard from that, and ask again.
 */
export type WaitForBucket = (id: Uint8Array, catalog: PlacedCatalog, options: CallOptions) => Promise<void>

/**
 * Creates the wait of one write, whose time is counted over all of its buckets and attempts. A sealed bucket is waited for until its shard has
 * another epoch, for one second in all; then its seal is taken away. A bucket that nobody serves is about to be begun by its mover; if it
 * is not, within some 30 ms, this process begins it at its new shard.
 *
 * The new shard may be served before this process has noticed, so its catalog is read first. It cannot begin if a crash of the old shard has
 * undone the change that gave the bucket up; all catalogs are read then, which tell the owner.
 *
 * Resolves early at `endsAt`, by the clock of `elapsedBy`, if it is given. Rejects if a shard does not answer; nothing was written then.
 */
export function createBucketWait(context: EngineContext, endsAt?: number): WaitForBucket {
  const now = elapsedBy(context.time)
  const end = endsAt ?? Infinity
  let patienceMs = PATIENCE_MS
  let waitedMs = 0
  let isFirst = true

  /** Waits, and notes the time as one of the move. */
  return async (id, catalog, options) => {
    const begun = now()
    try {
      await waitOnce(id, catalog, options)
    } finally {
      waitedMs += now() - begun
      noteWait(context, id, catalog, { waitedMs, isFirst })
      isFirst = false
    }
  }

  async function waitOnce(
    id: Uint8Array,
    { epochs, placement }: PlacedCatalog,
    options: CallOptions,
  ): Promise<void> {
    const shard = placement.shardOfId(id)
    if (placement.isSealed(id)) {
      const begun = now()
      const wait = { epoch: epochs[shard] ?? 0, breaksAt: begun + patienceMs, endsAt: end }
      await untilUnsealed(context, shard, wait, options)
      const waitMs = now() - begun
      patienceMs = Math.max(0, patienceMs - waitMs)
      context.events.happened({ kind: 'seal_wait', shard: context.driver.shards[shard]!.name, waitMs })
      return
    }
    const pause = (milliseconds: number): Promise<void> =>
      context.time.sleep(Math.max(0, Math.min(milliseconds, end - now())), options.signal)
    const isServed = (catalog: PlacedCatalog): boolean =>
      catalog.placement.shardOfId(id) !== shard || catalog.placement.isServed(id)
    if (isServed(await context.catalog.reloadShard(shard, options))) return
    for (const pauseMs of MOVER_PAUSES_MS) {
      await pause(pauseMs)
      if (isServed(await context.catalog.reloadShard(shard, options))) return
    }
    await begin(context, shard, options)
    if (isServed(context.catalog.current())) return
    if (isServed(await context.catalog.reload(options))) return
    await pause(PAUSE_MS)
  }
}

const begin = sharedByShard(async (context, shard) => {
  await beginTarget(context, shard)
  await context.catalog.reloadShard(shard)
})
