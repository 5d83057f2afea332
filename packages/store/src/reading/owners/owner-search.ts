import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { backOffMs } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { OwnerChanged } from './owner-changed.ts'

/** Finds the shards of reads again after their owners have changed. */
export interface OwnerSearch {
  /**
   * Returns when the entities may be asked again, at the shards of the present catalog. Rethrows any error but `OwnerChanged`. `tries` is
   * the number of times that they were asked. Rejects with `SHARD_BUSY` when their shards have changed too often.
   */
  again(error: unknown, ids: readonly Uint8Array[], tries: number, options: CallOptions): Promise<void>
}

/** Makes a shard serve the buckets that other shards have given up to it, as far as it can. */
export type BeginTarget = (shard: number, options: CallOptions) => Promise<void>

/** Times that a read asks. A handover takes some milliseconds, and the pauses below add up to seconds. */
const MAX_TRIES = 30
const PAUSES = { firstMs: 2, maxMs: 200 }

/** `beginTarget` is for buckets that no shard serves: one has given them up, and the other has not begun. */
export function createOwnerSearch(
  { catalog, time }: Pick<EngineContext, 'catalog' | 'time'>,
  beginTarget: BeginTarget = async (_, options) => void (await catalog.reload(options)),
): OwnerSearch {
  return {
    async again(error, ids, tries, options) {
      if (!(error instanceof OwnerChanged)) throw error
      if (tries >= MAX_TRIES) throw busy(tries)
      if (tries > 1) await time.sleep(backOffMs(tries - 1, PAUSES), options.signal)
      const { placement } = catalog.current()
      const unserved = ids.filter((id) => !placement.isServed(id))
      const targets = new Set(unserved.map((id) => placement.shardOfId(id)))
      for (const shard of targets) await beginTarget(shard, options)
    },
  }
}

const busy = (tries: number): LooseleafError =>
  new LooseleafError(
    'SHARD_BUSY',
    `The buckets of this read were being moved to other shards, and it found no owner ${tries} times in a row.`,
  )
