import type { Router } from '@looseleaf/core'
import { bucketRouter } from '@looseleaf/router'

/** Buckets of `bucketRouter` that are one bucket here. */
const JOINED = 64
const SCHEME = 'small-buckets'

/**
 * Creates a `bucketRouter` with 64 buckets in place of 4,096, and the same shard for every key. A process reads the buckets of every catalog,
 * which would be half of the work of a life.
 */
export function smallRouter(shards: number): Router {
  const router = bucketRouter({ shards })
  const { ofId, ofKey, shards: map } = router.buckets!
  const buckets = {
    scheme: SCHEME,
    ofId: remembered((id) => Math.floor(ofId(id) / JOINED)),
    ofKey: remembered((key) => Math.floor(ofKey(key) / JOINED)),
    shards: map.filter((_, bucket) => bucket % JOINED === 0),
  }
  return {
    ...router,
    fingerprint: `${SCHEME} shards=${shards}`,
    shardOfId: (id) => buckets.shards[buckets.ofId(id)]!,
    shardOfKey: (key) => buckets.shards[buckets.ofKey(key)]!,
    buckets,
  }
}

/** Keeps the answers: a bucket is a hash, and a life has few keys. */
function remembered(bucketOf: (key: Uint8Array) => number): (key: Uint8Array) => number {
  const known = new Map<string, number>()
  return (key) => {
    const text = Buffer.from(key).toString('latin1')
    let bucket = known.get(text)
    if (bucket === undefined) known.set(text, (bucket = bucketOf(key)))
    return bucket
  }
}
