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

/**
 * Returns a map for more or fewer shards, in which every shard has an equal share and as few buckets as possible move. Moves no data,
 * and has no effect on a store that is made: its catalog has the map.
 */
export function rebalanceBuckets(map: BucketMap, shards: number): BucketMap {
  checkShards(shards, BUCKETS)
  checkBuckets(map, BUCKETS)
  const current = Array.from({ length: shards }, () => 0)
  for (const shard of map) if (shard < shards) current[shard]!++
  // Shares differ by at most one bucket. The shards with the most buckets get the larger shares, so that they keep them.
  const share = Math.floor(BUCKETS / shards)
  const quota = Array.from({ length: shards }, () => share)
  const fullestFirst = [...current.keys()].toSorted((a, b) => current[b]! - current[a]!)
  for (const shard of fullestFirst.slice(0, BUCKETS % shards)) quota[shard]!++

  const filled = Array.from({ length: shards }, () => 0)
  const next = map.map((shard) => {
    if (shard >= shards || filled[shard]! === quota[shard]!) return -1
    filled[shard]!++
    return shard
  })
  let receiver = 0
  return next.map((shard) => {
    if (shard !== -1) return shard
    while (filled[receiver]! === quota[receiver]!) receiver++
    filled[receiver]!++
    return receiver
  })
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
