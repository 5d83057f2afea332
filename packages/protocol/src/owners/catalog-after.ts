import type { CallOptions } from '@looseleaf/core'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'

/**
 * Returns a catalog that is as new as the shard's was after this call began. It is the given one if the shard still has its epoch, and then
 * the shard has had the same buckets all the time. Sends one small statement, and none in a store whose router has no buckets, because
 * nothing moves there.
 */
export async function catalogAfter(
  context: EngineContext,
  shard: number,
  before: PlacedCatalog,
  { signal }: CallOptions,
): Promise<PlacedCatalog> {
  const { router, catalog } = context
  if (router.buckets === undefined) return before
  const { epoch } = await shardAt(context, shard).entities.floor({ signal })
  return epoch === before.epochs[shard] ? before : catalog.reloadShard(shard, { signal })
}
