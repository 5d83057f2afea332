import { createHash } from 'node:crypto'
import type { Router, Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { checkBuckets, evenBuckets, type BucketMap } from './bucket-map.ts'
import { bucketOfId, bucketOfKey, BUCKETS } from './bucket-of-id.ts'
import { checkRouterOptions } from './check.ts'
import { uuidV7 } from './uuid-v7.ts'

/** The way from ids and keys to buckets, which never changes. */
const SCHEME = 'buckets-1'

export interface BucketRouterOptions {
  /** Number of shards, 1 to 4,096. */
  readonly shards: number
  /** Shard of each bucket: 4,096 numbers, or a function that is called once per bucket. Default: `evenBuckets(shards)`. */
  readonly buckets?: (BucketMap | ((bucket: number) => number)) | undefined
  /** Clock for the milliseconds of new ids. Default: the clock of the machine. */
  readonly time?: Pick<Time, 'now'> | undefined
}

/**
 * Creates a router with 4,096 buckets. A key never changes its bucket, and a map assigns buckets to shards. The map counts when a store is
 * made; then it is in the catalog of the store. The id of an entity contains its bucket (see `bucketOfId`), so entities with ids near each other
 * stay together when their bucket moves.
 *
 * The fingerprint has the number of shards and a hash of the map. Throws `BAD_OPTION` for options that are not valid.
 */
export function bucketRouter(options: BucketRouterOptions): Router {
  checkRouterOptions('bucketRouter', options, BUCKETS)
  const { shards, buckets, time = systemTime } = options
  const map = shardsByBucket(shards, buckets)
  return {
    fingerprint: `${SCHEME} shards=${shards} map=${hashOf(map)}`,
    shardCount: shards,
    shardOfId: (id) => map[bucketOfId(id)] as number,
    shardOfKey: (key) => map[bucketOfKey(key)] as number,
    buckets: { scheme: SCHEME, ofId: bucketOfId, ofKey: bucketOfKey, shards: [...map] },
    newId: (near) => uuidV7(time.now(), near === undefined ? undefined : bucketOfId(near)),
    newIdNearKey: (key) => uuidV7(time.now(), bucketOfKey(key)),
  }
}

function shardsByBucket(shards: number, buckets: BucketRouterOptions['buckets']): Uint16Array {
  let map: BucketMap
  if (buckets === undefined) map = evenBuckets(shards)
  else if (typeof buckets === 'function')
    map = Array.from({ length: BUCKETS }, (_, bucket) => buckets(bucket))
  else map = buckets
  checkBuckets(map, shards)
  // Copied, so that the caller cannot change the routing through its array.
  return Uint16Array.from(map)
}

/** Returns 64 bits of the SHA-256 of the map, in which a bucket has two bytes (big endian). */
function hashOf(map: Uint16Array): string {
  const bytes = Buffer.alloc(map.length * 2)
  for (let bucket = 0; bucket < map.length; bucket++) bytes.writeUInt16BE(map[bucket]!, bucket * 2)
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
