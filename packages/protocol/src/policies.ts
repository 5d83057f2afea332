import type { EntityRow } from '@looseleaf/core/internal'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from './shards.ts'

/** Returns the milliseconds in which a failover may undo a commit, by the present catalog of this process. */
export function deleteDelayMs({ catalog }: EngineContext): number {
  return catalog.current().policies.deleteDelayMs
}

/**
 * Reloads the catalog of this process if it may lack the policies by which these entities were committed. Call it after the entities were
 * read: if one was committed under a later epoch, its shard has that epoch by now.
 */
export async function learnPolicies(
  context: EngineContext,
  ids: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { epochs, placement } = context.catalog.current()
  const shards = new Set(Array.from(ids, (id) => placement.shardOfId(id)))
  const isBehind = await Promise.all(
    Array.from(shards, async (shard) => {
      const found = await loadShardCatalog(shardAt(context, shard), { signal })
      return found?.epoch !== epochs[shard]
    }),
  )
  if (isBehind.includes(true)) await context.catalog.reload({ signal })
}

/**
 * Tells whether a failover can still undo the commit of an entity that was read. If so, nothing that the version before needs may be
 * deleted. `readAt` is a time before the read, in milliseconds since 1970. With a later time, a process that was suspended after the
 * read would find the commit old enough, although a failover may have undone it by then.
 */
export function mayBeLost(
  context: EngineContext,
  { updated }: Pick<EntityRow, 'updated'>,
  readAt: number,
): boolean {
  const delayMs = deleteDelayMs(context)
  return delayMs > 0 && readAt - updated / 1000 < delayMs
}
