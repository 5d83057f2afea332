import type { EntityRow } from '@looseleaf/core'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine'
import { shardAt } from './shards.ts'

/** How long a commit may be lost by a failover, in milliseconds, by the catalog at hand. */
export function deleteDelayMs({ catalog }: EngineContext): number {
  return catalog.current().policies.deleteDelayMs
}

/**
 * Makes sure that the catalog at hand has the policies by which these entities were committed, of those that were read
 * before this call: a commit under another epoch than is known here is on a shard that says so by now.
 */
export async function learnPolicies(
  context: EngineContext,
  ids: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const shards = new Set(Array.from(ids, (id) => context.router.shardOfId(id)))
  const { epochs } = context.catalog.current()
  const isBehind = await Promise.all(
    Array.from(shards, async (shard) => {
      const found = await loadShardCatalog(shardAt(context, shard), { signal })
      return found?.epoch !== epochs[shard]
    }),
  )
  if (isBehind.includes(true)) await context.catalog.reload({ signal })
}

/**
 * Whether a failover can still undo the commit of what was read: then it is no ground to take away what the one before
 * it needs. `readAt` is the time before the reading, in milliseconds, and no later one: a process that was held up since
 * would find the commit old enough, although it may have been lost meanwhile.
 */
export function mayBeLost(
  context: EngineContext,
  { updated }: Pick<EntityRow, 'updated'>,
  readAt: number,
): boolean {
  const delayMs = deleteDelayMs(context)
  return delayMs > 0 && readAt - updated / 1000 < delayMs
}
