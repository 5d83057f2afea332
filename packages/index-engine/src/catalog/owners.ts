import type { ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { knownBuckets } from './layout.ts'

/** The shards of entities, by bucket. */
export interface BucketOwners {
  readonly shardOfBucket: readonly number[]
  /** Owned buckets whose writes have to wait. */
  readonly sealed: ReadonlySet<number>
  /** Buckets that their new shard has not begun to serve, by the known catalogs. */
  readonly unserved: ReadonlySet<number>
}

const NONE: ReadonlySet<number> = new Set()
/** The arrival of a bucket that its shard has had since the store was made, or for so long that no record of the arrival is left. */
const NEVER = -1

/**
 * Returns the owner of each bucket, by the shards' own catalogs. These may be of different moments, so two shards may seem to own a
 * bucket, or none:
 * - Of two, the owner is the one to which the bucket came by the later move. The other catalog is older than that move.
 * - If there is none, the last shard that gave the bucket up names the owner, which has to begin before it serves the bucket.
 *
 * A wrong owner does no harm: its shard has another epoch by now, so it refuses the write, and the writer reads the catalogs again.
 * A shard without `serves`, or whose catalog is unknown, counts with its buckets of the layout.
 */
export function ownersOf(
  layoutOwners: readonly number[],
  shards: readonly (ShardCatalog | undefined)[],
): BucketOwners {
  if (shards.every((shard) => shard?.serves === undefined))
    return { shardOfBucket: layoutOwners, sealed: NONE, unserved: NONE }

  const bucketCount = layoutOwners.length
  const serving = shards.flatMap((shard, number) =>
    shard?.serves === undefined ? [] : [{ number, serves: shard.serves }],
  )
  const owners = layoutOwners.map((shard) => (shards[shard]?.serves === undefined ? shard : undefined))
  const arrivals = owners.map(() => NEVER)
  for (const { number, serves } of serving) {
    const arrivalOf = latestMoves(number, serves.arrived, bucketCount)
    for (const bucket of knownBuckets(`shard ${number}`, serves.owns, bucketCount)) {
      const arrival = arrivalOf.get(bucket)?.move ?? NEVER
      if (owners[bucket] !== undefined && arrival <= arrivals[bucket]!) continue
      owners[bucket] = number
      arrivals[bucket] = arrival
    }
  }

  const unserved = new Set<number>()
  const departures = new Map<number, { readonly move: number; readonly to: number }>()
  for (const { number, serves } of serving) {
    for (const [bucket, away] of latestMoves(number, serves.away, bucketCount))
      if (owners[bucket] === undefined && away.move > (departures.get(bucket)?.move ?? NEVER))
        departures.set(bucket, away)
  }
  const shardOfBucket = owners.map((owner, bucket) => {
    if (owner !== undefined) return owner
    unserved.add(bucket)
    return departures.get(bucket)?.to ?? layoutOwners[bucket]!
  })

  const sealed = new Set<number>()
  for (const { number, serves } of serving)
    for (const { sealed: buckets = '' } of serves.leaving ?? [])
      for (const bucket of knownBuckets(`shard ${number}`, buckets, bucketCount))
        if (owners[bucket] === number) sealed.add(bucket)
  return { shardOfBucket, sealed, unserved }
}

type Motion = Pick<NonNullable<ShardServes['away']>[number], 'move' | 'buckets'>

/** Returns the last of these records of each bucket. */
function latestMoves<Record extends Motion>(
  shard: number,
  records: readonly Record[] = [],
  bucketCount: number,
): ReadonlyMap<number, Record> {
  const latest = new Map<number, Record>()
  for (const record of records.toSorted((a, b) => a.move - b.move))
    for (const bucket of knownBuckets(`shard ${shard}`, record.buckets, bucketCount))
      latest.set(bucket, record)
  return latest
}
