import type { Router } from '@looseleaf/core'
import { bucketRouter } from '@looseleaf/router'

const SCHEME = 'small-buckets'

/**
 * Creates a `bucketRouter` with fewer buckets, by default 64 in place of 4,096, and the same shard for every key. A process reads the buckets
 * of every catalog, which would be half of the work of a life.
 */
export function smallRouter(shards: number, count = 64): Router {
  const router = bucketRouter({ shards })
  const { ofId, ofKey, shards: map } = router.buckets!
  const joined = map.length / count
  const buckets = {
    scheme: SCHEME,
    ofId: remembered((id) => Math.floor(ofId(id) / joined)),
    ofKey: remembered((key) => Math.floor(ofKey(key) / joined)),
    shards: map.filter((_, bucket) => bucket % joined === 0),
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
