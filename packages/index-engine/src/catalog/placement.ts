import { LooseleafError, type Router } from '@looseleaf/core'
import type { StoreLayout } from '@looseleaf/core/internal'
import { bucketsOf, parseBuckets } from './layout.ts'

/**
 * The shards of ids and keys by one catalog. Take it from the catalog that the attempt or the read goes by, and do not keep it: the
 * next catalog may have another layout.
 */
export interface Placement extends Pick<Router, 'shardCount' | 'shardOfId' | 'shardOfKey'> {
  /** The shard of each bucket; undefined for a router without buckets. */
  readonly shardOfBucket?: readonly number[] | undefined
}

/**
 * Creates the placement of a layout for a process with these shards. Without a layout, and for a router without buckets, the router's
 * own assignment counts. Throws `CATALOG_DAMAGED`, and `LAYOUT_MISMATCH` for another number of shards.
 */
export function createPlacement(
  router: Router,
  layout: StoreLayout | undefined,
  shardCount: number,
): Placement {
  if (layout !== undefined && layout.shards.length !== shardCount) {
    throw new LooseleafError(
      'LAYOUT_MISMATCH',
      `The store has ${layout.shards.length} shards by now, and this process was given ${shardCount}. Open the store again with all of its shards.`,
    )
  }
  const buckets = bucketsOf(router)
  if (buckets === undefined || layout?.scheme === undefined) return fixedPlacement(router)
  const { ofId, ofKey } = buckets
  const shardOfBucket = parseBuckets(layout, buckets.shards.length)
  return {
    shardCount,
    shardOfId: (id) => shardOfBucket[ofId(id)]!,
    shardOfKey: (key) => shardOfBucket[ofKey(key)]!,
    shardOfBucket,
  }
}

function fixedPlacement(router: Router): Placement {
  return {
    shardCount: router.shardCount,
    shardOfId: (id) => router.shardOfId(id),
    shardOfKey: (key) => router.shardOfKey(key),
    shardOfBucket: router.buckets?.shards,
  }
}
