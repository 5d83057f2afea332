import type { EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn, swapOwn } from './own-buckets.ts'

/**
 * Takes the seals of a shard away if its catalog still has this epoch, so that its buckets are written again. The mover that has sealed them
 * cannot hand them over by its seal any more, because the epoch of the shard has changed: it copies what was written since, and seals
 * again. Does nothing if the catalog has changed.
 */
export async function breakSeal(context: EngineContext, shard: number, epoch: number): Promise<void> {
  const own = await loadOwn(context, shard, {})
  const { leaving } = own.serves
  if (own.catalog.epoch !== epoch || leaving === undefined) return
  const unsealed = leaving.map((record) => ({ ...record, sealed: undefined }))
  await swapOwn(context, shard, own, { ...own.serves, leaving: unsealed }, {})
}
