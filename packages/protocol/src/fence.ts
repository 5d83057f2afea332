import type { CallOptions } from '@looseleaf/core'
import { isWritable, type EngineContext } from '@looseleaf/index-engine/internal'
import { commit } from './commit.ts'
import { createBucketWait, type WaitForBucket } from './moves/until-writable.ts'
import type { SeenEntity } from './on-disk.ts'
import { catchUp } from './purged.ts'
import { shardAt } from './shards.ts'

/** Changes of the catalog, and waits for the entity's bucket, during one fence after which it gives up. */
const MAX_TRIES = 8

/**
 * Ends every attempt at writing this entity that began from the version that was read, or an earlier one: raises the entity's version
 * above `stamp` and keeps its body, or inserts a tombstone if there is no entity. An attempt in flight then loses its
 * compare-and-swap, starts over, and stamps its rows with a greater version.
 *
 * Returns the new version. Undefined if another write came first or the outcome is unknown; read the entity again then.
 */
export async function fence(
  context: EngineContext,
  { id, version: base }: SeenEntity,
  stamp: number,
  { signal }: CallOptions = {},
): Promise<number | undefined> {
  let wait: WaitForBucket | undefined
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const catalog = context.catalog.current()
    const { epochs, placement } = catalog
    if (!isWritable(placement, id)) {
      // The commit of a sealed bucket would pass by the epoch of the seal, and the mover's last copy would lack it.
      wait ??= createBucketWait(context)
      await wait(id, catalog, { signal })
      continue
    }
    const version = context.clock.next(Math.max(stamp, base))
    const number = placement.shardOfId(id)
    const { entities } = shardAt(context, number)
    const epoch = epochs[number] ?? 0
    const [row] = base === 0 ? [] : await entities.read([id], { signal })
    if ((row?.version ?? 0) !== base) return undefined
    const outcome = await commit(
      { id, version, body: row?.body ?? null, base, epoch },
      {
        insert: (fresh) => entities.insert([fresh], { epoch, signal }),
        replace: async (next) => (await entities.replace([next], { epoch, signal })).includes(true),
      },
    )
    if (outcome === 'won') return version
    if (outcome !== 'stale') return undefined
    await catchUp(context, number, { signal })
  }
  return undefined
}
