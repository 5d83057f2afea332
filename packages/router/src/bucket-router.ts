import { createHash } from 'node:crypto'
import { systemTime, type Router, type Time } from '@looseleaf/core'
import { checkBuckets, evenBuckets, type BucketMap } from './bucket-map.ts'
import { bucketOfId, bucketOfKey, BUCKETS } from './bucket-of-id.ts'
import { checkRouterOptions, checkShards } from './check.ts'
import { uuidV7 } from './uuid-v7.ts'

export interface BucketRouterOptions {
  /** Shards, numbered from 0. 1 to 4,096. */
  readonly shards: number
  /** The shard of each bucket: 4,096 numbers, or a function that is asked once for each. Default: `evenBuckets(shards)`. */
  readonly buckets?: (BucketMap | ((bucket: number) => number)) | undefined
  /** Where fresh ids take their time from. */
  readonly time?: Pick<Time, 'now'> | undefined
}

/**
 * Keys fall into 4,096 buckets for ever, and a map says on which shard each bucket is: a shard is added by moving some
 * buckets to it, and nothing else changes its place. The bucket of an entity stands in its id (see `bucketOfId`), so entities that
 * were given ids near each other stay together wherever their bucket goes.
 *
 * The fingerprint holds the number of shards and a hash of the whole map. Options that do not fit throw `BAD_OPTION`.
 */
export function bucketRouter(options: BucketRouterOptions): Router {
  checkRouterOptions(options)
  const { shards, buckets, time = systemTime } = options
  checkShards(shards, BUCKETS)
  const map = shardsByBucket(shards, buckets)
  return {
    fingerprint: `buckets-1 shards=${shards} map=${hashOf(map)}`,
    shardCount: shards,
    shardOfId: (id) => map[bucketOfId(id)] as number,
    shardOfKey: (key) => map[bucketOfKey(key)] as number,
    buckets: { ofId: bucketOfId, shards: [...map] },
    newId: (near) => uuidV7(time.now(), near === undefined ? undefined : bucketOfId(near)),
  }
}

function shardsByBucket(shards: number, buckets: BucketRouterOptions['buckets']): Uint16Array {
  let map: BucketMap
  if (buckets === undefined) map = evenBuckets(shards)
  else if (typeof buckets === 'function')
    map = Array.from({ length: BUCKETS }, (_, bucket) => buckets(bucket))
  else map = buckets
  checkBuckets(map, shards)
  // A copy, so that a change to the caller's array cannot change the routing.
  return Uint16Array.from(map)
}

/** 64 bits of a SHA-256 over the map, two bytes (big endian) a bucket. */
function hashOf(map: Uint16Array): string {
  const bytes = Buffer.alloc(map.length * 2)
  map.forEach((shard, bucket) => bytes.writeUInt16BE(shard, bucket * 2))
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
