import type { CallOptions } from '@looseleaf/core'
import { backOffMs } from '@looseleaf/core/internal'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { createBucketWait } from '../moves/until-writable.ts'
import { noOwner } from './no-owner.ts'

/** Times that ids are asked for. A handover takes some milliseconds, and the pauses below add up to seconds. */
const MAX_TRIES = 30
const PAUSES = { firstMs: 2, maxMs: 200 }

/**
 * Returns the catalog by which the owners of these ids are to be asked; `tries` is the number of times that they were asked. Pauses after the
 * second time. A bucket that one shard has given up begins at the other one, so that its reads do not wait for a mover that has died.
 * Rejects with `SHARD_BUSY` when the owners have changed too often.
 */
export async function beforeAsking(
  context: EngineContext,
  ids: readonly Uint8Array[],
  tries: number,
  options: CallOptions,
): Promise<PlacedCatalog> {
  const { catalog, time } = context
  if (tries >= MAX_TRIES) throw noOwner(tries)
  if (tries > 1) await time.sleep(backOffMs(tries - 1, PAUSES), options.signal)
  const wait = createBucketWait(context)
  // Shards that could not begin. Another wait for such a shard, for each of many entities, would take minutes.
  const vain = new Set<number>()
  for (const id of ids) {
    const now = catalog.current()
    const shard = now.placement.shardOfId(id)
    if (now.placement.isServed(id) || vain.has(shard)) continue
    await wait(id, now, options)
    const { placement } = catalog.current()
    if (!placement.isServed(id) && placement.shardOfId(id) === shard) vain.add(shard)
  }
  return catalog.current()
}
