import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { backOffMs } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { createBucketWait } from '@looseleaf/protocol/internal'
import { OwnerChanged } from './owner-changed.ts'

/** Finds the shards of reads again after their owners have changed. */
export interface OwnerSearch {
  /**
   * Returns when the entities may be asked again, at the shards of the present catalog. Rethrows any error but `OwnerChanged`. `tries` is
   * the number of times that they were asked. Rejects with `SHARD_BUSY` when their shards have changed too often.
   */
  again(error: unknown, ids: readonly Uint8Array[], tries: number, options: CallOptions): Promise<void>
}

/** Times that a read asks. A handover takes some milliseconds, and the pauses below add up to seconds. */
const MAX_TRIES = 30
const PAUSES = { firstMs: 2, maxMs: 200 }

/** Creates the search of one store. */
export function createOwnerSearch(context: EngineContext): OwnerSearch {
  const { catalog, time } = context
  return {
    async again(error, ids, tries, options) {
      if (!(error instanceof OwnerChanged)) throw error
      if (tries >= MAX_TRIES) throw busy(tries)
      if (tries > 1) await time.sleep(backOffMs(tries - 1, PAUSES), options.signal)
      // A bucket that one shard has given up begins at the other one, so that its reads do not wait for a mover that has died.
      const wait = createBucketWait(context)
      for (const id of ids) {
        const now = catalog.current()
        if (!now.placement.isServed(id)) await wait(id, now, options)
      }
    },
  }
}

const busy = (tries: number): LooseleafError =>
  new LooseleafError(
    'SHARD_BUSY',
    `The buckets of this read were being moved to other shards, and it found no owner ${tries} times in a row.`,
  )
