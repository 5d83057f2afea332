import { requireKind, wholeNumber } from '@looseleaf/core/internal'
import { BUCKETS } from './bucket-of-id.ts'
import { checkShards } from './check.ts'

/** Shard of each bucket: 4,096 shard numbers. */
export type BucketMap = readonly number[]

/** Returns the default map: consecutive buckets in equal shares. With 2 shards, shard 0 has the buckets 0 to 2,047. */
export function evenBuckets(shards: number): BucketMap {
  checkShards(shards, BUCKETS)
  const map: number[] = []
  for (let bucket = 0; bucket < BUCKETS; bucket++) map.push(Math.floor((bucket * shards) / BUCKETS))
  return map
}

/** Throws `BAD_OPTION` unless the map has a shard of this router for every bucket. A shard may have no bucket. */
export function checkBuckets(map: BucketMap, shards: number): void {
  requireKind('A bucket map', map, {
    expected: `an array of ${BUCKETS} shard numbers`,
    fits: (value) => Array.isArray(value) && value.length === BUCKETS,
  })
  const kind = { expected: `on a shard from 0 to ${shards - 1}`, fits: wholeNumber(0, shards - 1).fits }
  // The text is made for a wrong bucket alone, because a map has thousands.
  const wrong = map.findIndex((shard) => !kind.fits(shard))
  if (wrong !== -1) requireKind(`Bucket ${wrong} of a bucket map`, map[wrong], kind)
}
