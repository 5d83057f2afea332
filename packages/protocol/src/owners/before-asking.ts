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
  // One wait per shard: waits for each of many entities, whose shard cannot begin, would take minutes.
  const awaited = new Set<number>()
  for (const id of ids) {
    const now = catalog.current()
    const shard = now.placement.shardOfId(id)
    if (now.placement.isServed(id) || awaited.has(shard)) continue
    awaited.add(shard)
    await wait(id, now, options)
  }
  return catalog.current()
}
