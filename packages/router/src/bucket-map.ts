import { requireKind, wholeNumber } from '@looseleaf/core/internal'
import { BUCKETS } from './bucket-of-id.ts'
import { checkShards } from './check.ts'

/** Shard of each bucket: 4,096 shard numbers. */
export type BucketMap = readonly number[]

/** Returns the default map: consecutive buckets in equal shares. With 2 shards, shard 0 has the buckets 0 to 2,047. */
export function evenBuckets(shards: number): BucketMap {
  checkShards(shards, BUCKETS)
  return Array.from({ length: BUCKETS }, (_, bucket) => Math.floor((bucket * shards) / BUCKETS))
}

/** Throws `BAD_OPTION` unless the map has a shard of this router for every bucket. A shard may have no bucket. */
export function checkBuckets(map: BucketMap, shards: number): void {
  requireKind('A bucket map', map, {
    expected: `an array of ${BUCKETS} shard numbers`,
    fits: (value) => Array.isArray(value) && value.length === BUCKETS,
  })
  const kind = { expected: `on a shard from 0 to ${shards - 1}`, fits: wholeNumber(0, shards - 1).fits }
  for (const [bucket, shard] of map.entries()) {
    requireKind(`Bucket ${bucket} of a bucket map`, shard, kind)
  }
}
