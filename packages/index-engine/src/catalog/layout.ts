import { LooseleafError, type Router } from '@looseleaf/core'
import type { RouterBuckets, StoreLayout } from '@looseleaf/core/internal'

/** Returns the buckets of a router whose shards depend on buckets alone; undefined if its layout is fixed. */
export function bucketsOf({ fingerprint, buckets }: Router): RouterBuckets | undefined {
  // A router that wraps another one may have its `buckets` and an assignment of its own. Its fingerprint tells.
  return buckets !== undefined && fingerprint.startsWith(`${buckets.scheme} `) ? buckets : undefined
}

/** Returns the layout of a store that is made with this router, on shards with these names. */
export function firstLayout(router: Router, names: readonly string[]): StoreLayout {
  const buckets = bucketsOf(router)
  if (buckets === undefined) return { revision: 0, shards: names.map((name) => ({ name })) }
  const ranges = formatBuckets(buckets.shards, names.length)
  return {
    revision: 0,
    scheme: buckets.scheme,
    shards: names.map((name, shard) => ({ name, buckets: ranges[shard] })),
  }
}

/** Returns the ranges of buckets of each shard, such as `0-76,97`, from the shard of each bucket. */
export function formatBuckets(shardOfBucket: readonly number[], shardCount: number): readonly string[] {
  const ranges = Array.from({ length: shardCount }, (): string[] => [])
  for (let first = 0, next = 1; first < shardOfBucket.length; first = next, next++) {
    while (next < shardOfBucket.length && shardOfBucket[next] === shardOfBucket[first]) next++
    ranges[shardOfBucket[first]!]!.push(next - first === 1 ? `${first}` : `${first}-${next - 1}`)
  }
  return ranges.map((each) => each.join(','))
}

/** Returns the shard of each bucket. Throws `CATALOG_DAMAGED` unless each of these buckets is on one shard. */
export function parseBuckets({ shards }: StoreLayout, bucketCount: number): readonly number[] {
  const shardOfBucket = Array.from({ length: bucketCount }, () => -1)
  for (const [shard, { buckets = '' }] of shards.entries()) {
    for (const range of buckets === '' ? [] : buckets.split(',')) {
      const [, from = '', to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? []
      const [first, last] = [Number(from), Number(to)]
      if (from === '' || first > last || last >= bucketCount)
        throw damaged(`shard ${shard} has the buckets ${JSON.stringify(range)}, which is no range`)
      for (let bucket = first; bucket <= last; bucket++) {
        if (shardOfBucket[bucket] !== -1)
          throw damaged(`bucket ${bucket} is on the shards ${shardOfBucket[bucket]} and ${shard}`)
        shardOfBucket[bucket] = shard
      }
    }
  }
  const missing = shardOfBucket.indexOf(-1)
  if (missing !== -1) throw damaged(`bucket ${missing} is on no shard`)
  return shardOfBucket
}

function damaged(flaw: string): LooseleafError {
  return new LooseleafError(
    'CATALOG_DAMAGED',
    `The layout in the catalog cannot be used: ${flaw}. Nothing was written. Put the column catalog of looseleaf_meta back from a backup.`,
  )
}
