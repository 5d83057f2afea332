import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { beforeAsking } from '@looseleaf/protocol/internal'
import { OwnerChanged } from './owner-changed.ts'

/** Finds the shards of reads again after their owners have changed. */
export interface OwnerSearch {
  /**
   * Returns when the entities may be asked again, at the shards of the present catalog. Rethrows any error but `OwnerChanged`. `tries` is
   * the number of times that they were asked. Rejects with `SHARD_BUSY` when their shards have changed too often.
   */
  again(error: unknown, ids: readonly Uint8Array[], tries: number, options: CallOptions): Promise<void>
}

export function createOwnerSearch(context: EngineContext): OwnerSearch {
  return {
    async again(error, ids, tries, options) {
      if (!(error instanceof OwnerChanged)) throw error
      await beforeAsking(context, ids, tries, options)
    },
  }
}
