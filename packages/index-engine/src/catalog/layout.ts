import { LooseleafError, type Router } from '@looseleaf/core'
import {
  bucketsIn,
  formatRanges,
  parseRanges,
  type BucketRange,
  type RouterBuckets,
  type StoreLayout,
} from '@looseleaf/core/internal'

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
  const ranges = Array.from({ length: shardCount }, (): BucketRange[] => [])
  for (let first = 0, next = 1; first < shardOfBucket.length; first = next++) {
    const shard = shardOfBucket[first]!
    while (shardOfBucket[next] === shard) next++
    ranges[shard]!.push([first, next - 1])
  }
  return ranges.map(formatRanges)
}

/** Returns the shard of each bucket. Throws `CATALOG_DAMAGED` unless each of these buckets is on one shard. */
export function parseBuckets({ shards }: StoreLayout, bucketCount: number): readonly number[] {
  const shardOfBucket = Array.from<number>({ length: bucketCount }).fill(-1)
  for (const [shard, { buckets = '' }] of shards.entries()) {
    for (const bucket of knownBuckets(`shard ${shard}`, buckets, bucketCount)) {
      if (shardOfBucket[bucket] !== -1)
        throw damagedLayout(`bucket ${bucket} is on the shards ${shardOfBucket[bucket]} and ${shard}`)
      shardOfBucket[bucket] = shard
    }
  }
  const missing = shardOfBucket.indexOf(-1)
  if (missing !== -1) throw damagedLayout(`bucket ${missing} is on no shard`)
  return shardOfBucket
}

/** Returns the buckets of a text of the catalog. Throws `CATALOG_DAMAGED` unless they are ascending ranges of buckets that exist. */
export function knownBuckets(owner: string, text: string, bucketCount: number): readonly number[] {
  const last = parseRanges(text)?.at(-1)?.[1] ?? (text === '' ? -1 : Infinity)
  if (last >= bucketCount)
    throw damagedLayout(
      `${owner} has the buckets ${JSON.stringify(text)}, which are no ascending ranges below ${bucketCount}`,
    )
  return bucketsIn(text)
}

/** Makes the error of a layout, or of a shard's own buckets, that no process can go by. */
export function damagedLayout(flaw: string): LooseleafError {
  return new LooseleafError(
    'CATALOG_DAMAGED',
    `The layout in the catalog cannot be used: ${flaw}. Nothing was written. Put the column catalog of looseleaf_meta back from a backup.`,
  )
}
