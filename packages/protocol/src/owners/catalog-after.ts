import type { CallOptions } from '@looseleaf/core'
import { untilAborted } from '@looseleaf/core/internal'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { isMoving, isQuiet } from './quiet-shards.ts'
import { looksOf } from './shard-looks.ts'

/**
 * Returns a catalog that is as new as the shard's was after this call began. It is the given one if the shard still has its epoch, and then
 * the shard has had the same buckets all the time. Sends one small statement, which calls at the same time share, and none in a store
 * whose router has no buckets, because nothing moves there.
 */
export async function catalogAfter(
  context: EngineContext,
  shard: number,
  before: PlacedCatalog,
  { signal }: CallOptions,
): Promise<PlacedCatalog> {
  const { router, catalog } = context
  if (router.buckets === undefined) return before
  const { epoch } = await untilAborted(looksOf(context).of(shardAt(context, shard)).next(), signal)
  return epoch === before.epochs[shard] ? before : catalog.reloadShard(shard, { signal })
}

/**
 * Returns a catalog that has the owners of the shard's buckets as of now. It is the given one if the shard has had the same buckets all the
 * time. As `catalogAfter`, but while no move of the shard is announced, a look of the last seconds is enough. So a move may be
 * announced by now that the catalog does not name.
 */
export async function ownersAfter(
  context: EngineContext,
  shard: number,
  before: PlacedCatalog,
  options: CallOptions,
): Promise<PlacedCatalog> {
  if (context.router.buckets === undefined) return before
  const looks = looksOf(context).of(shardAt(context, shard))
  if (looks.last === undefined || looks.last.isDue()) looks.begin()
  if (isQuiet(looks, before, shard)) return before
  if (!isMoving(before, shard)) {
    // It may have begun before this call.
    await untilAborted(looks.soon(), options.signal)
    if (isQuiet(looks, before, shard)) return before
  }
  return catalogAfter(context, shard, before, options)
}
