import { describeKind, LooseleafError } from '@looseleaf/core'
import { BUCKETS } from './bucket-of-id.ts'
import { checkShards } from './check.ts'

/** The shard of each bucket: 4,096 shard numbers. */
export type BucketMap = readonly number[]

/** The default map: consecutive buckets, as evenly as it goes. Of 2 shards, 0 has the buckets 0 to 2,047. */
export function evenBuckets(shards: number): BucketMap {
  checkShards(shards, BUCKETS)
  return Array.from({ length: BUCKETS }, (_, bucket) => Math.floor((bucket * shards) / BUCKETS))
}

/**
 * A map for more (or fewer) shards that moves as few buckets as possible: every shard ends with its even share, and a bucket
 * stays where it is unless its shard has too many. It only makes the map; the entities of buckets that move
 * have to be copied before a store is opened with it.
 */
export function rebalanceBuckets(map: BucketMap, shards: number): BucketMap {
  checkShards(shards, BUCKETS)
  checkBuckets(map, BUCKETS)
  const held = Array.from({ length: shards }, () => 0)
  for (const shard of map) if (shard < shards) held[shard]!++
  // Shares differ by one bucket at the most; the larger ones go to those that have the most already.
  const share = Math.floor(BUCKETS / shards)
  const quota = Array.from({ length: shards }, () => share)
  const fullestFirst = [...held.keys()].toSorted((a, b) => held[b]! - held[a]!)
  for (const shard of fullestFirst.slice(0, BUCKETS % shards)) quota[shard]!++

  const filled = Array.from({ length: shards }, () => 0)
  const next = map.map((shard) => {
    if (shard >= shards || filled[shard]! === quota[shard]!) return -1
    filled[shard]!++
    return shard
  })
  let taker = 0
  return next.map((shard) => {
    if (shard !== -1) return shard
    while (filled[taker]! === quota[taker]!) taker++
    filled[taker]!++
    return taker
  })
}

/** Throws `BAD_OPTION` unless the map has a shard of this router for every bucket. A shard may have no bucket. */
export function checkBuckets(map: BucketMap, shards: number): void {
  if (!Array.isArray(map) || map.length !== BUCKETS) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A bucket map has to be an array of ${BUCKETS} shard numbers; got ${describeKind(map)}.`,
    )
  }
  for (const [bucket, shard] of (map as BucketMap).entries()) {
    if (Number.isInteger(shard) && shard >= 0 && shard < shards) continue
    const came = typeof shard === 'number' ? String(shard) : describeKind(shard)
    throw new LooseleafError(
      'BAD_OPTION',
      `Bucket ${bucket} of a bucket map has to be on a shard from 0 to ${shards - 1}; got ${came}.`,
    )
  }
}
