import type { ShardCatalog, StoreLayout } from '@looseleaf/core/internal'
import { knownBuckets } from './layout.ts'

/** The shards of entities, by bucket. */
export interface BucketOwners {
  readonly shardOfBucket: readonly number[]
  /** Owned buckets whose writes have to wait. */
  readonly sealed: ReadonlySet<number>
  /** Buckets that their new shard has not begun to serve, by the known catalogs. */
  readonly unserved: ReadonlySet<number>
  /** Time at which the bucket came to its owner; -1 if the owner has always had it. */
  readonly arrivals: readonly number[]
}

/** Why a shard counts as the owner of a bucket. */
interface Ownership {
  readonly shard: number
  /** The move by which the bucket came to the shard; `NEVER` if no catalog has a record of it. */
  readonly move: number
  /** Time of the shard's beginning with the bucket, or else the end of the other one's; `NEVER` if no catalog has a record of it. */
  readonly arrival: number
  /** False if the shard itself does not say so: only the shard that gave the bucket up does, or only the layout. */
  readonly isServed: boolean
}

/** Before every move: the shard has had the bucket since the store was made. */
const NEVER = -1

/**
 * Returns the owner of each bucket, by the shards' own catalogs. These may be of different moments, so several shards may seem to own a
 * bucket, or none. The shard to which the bucket went by the latest known move is the owner. If only the shard that gave the bucket up
 * tells of that move, the owner has to begin before it serves the bucket.
 *
 * A wrong owner does no harm: its shard has another epoch by now, so it refuses the write, and the writer reads the catalogs again.
 * A shard without `serves`, or whose catalog is unknown, counts with its buckets of the layout. Catalogs of removed shards are not read: of
 * their moves the layout tells.
 */
export function ownersOf(
  layoutOwners: readonly number[],
  layout: Pick<StoreLayout, 'shards'>,
  shards: readonly (ShardCatalog | undefined)[],
): BucketOwners {
  const bucketCount = layoutOwners.length
  const serving = shards.flatMap((shard, number) =>
    shard?.serves === undefined ? [] : [{ number, serves: shard.serves }],
  )
  const known = (shard: number, text: string): readonly number[] =>
    knownBuckets(`shard ${shard}`, text, bucketCount)

  const latest = layoutOwners.map((shard): Ownership => {
    const isServed = shards[shard]?.serves === undefined
    return { shard, move: NEVER, arrival: NEVER, isServed }
  })
  /** By bucket: whether the shard that has it in the layout is known to own it. */
  const isHeld = layoutOwners.map(
    (shard) => shards[shard] !== undefined && shards[shard].serves === undefined,
  )
  const add = (bucket: number, ownership: Ownership): void => {
    if (isLater(ownership, latest[bucket]!)) latest[bucket] = ownership
  }
  for (const { number, serves } of serving) {
    const arrivals = new Map<number, Pick<Ownership, 'move' | 'arrival'>>()
    for (const { move, buckets, begin: arrival } of serves.arrived ?? [])
      for (const bucket of known(number, buckets))
        if (move > (arrivals.get(bucket)?.move ?? NEVER)) arrivals.set(bucket, { move, arrival })
    for (const bucket of known(number, serves.owns)) {
      const { move, arrival } = arrivals.get(bucket) ?? { move: NEVER, arrival: NEVER }
      isHeld[bucket] ||= layoutOwners[bucket] === number
      add(bucket, { shard: number, move, arrival, isServed: true })
    }
    for (const { move, to, buckets, end } of serves.away ?? [])
      for (const bucket of known(number, buckets))
        add(bucket, { shard: to, move, arrival: end, isServed: false })
  }
  // A shard is removed when its moves are over, so the layout has their buckets where they went, or where a later move brought them. A shard
  // that owns one may have no record of the arrival: it has lost its data, and `init` has made it anew.
  for (const [number, { away = [] }] of layout.shards.entries())
    for (const { move, buckets, end } of away)
      for (const bucket of known(number, buckets))
        add(bucket, { shard: layoutOwners[bucket]!, move, arrival: end, isServed: isHeld[bucket]! })

  const shardOfBucket = latest.map(({ shard }) => shard)
  const sealed = new Set<number>()
  for (const { number, serves } of serving)
    for (const { sealed: buckets = '' } of serves.leaving ?? [])
      for (const bucket of known(number, buckets)) if (shardOfBucket[bucket] === number) sealed.add(bucket)
  const unserved = new Set(latest.keys().filter((bucket) => !latest[bucket]!.isServed))
  const arrivals = latest.map(({ arrival }) => arrival)
  return { shardOfBucket, sealed, unserved, arrivals }
}

/** Tells whether an ownership is of a later move, or of the same move and begun. */
function isLater({ move, isServed }: Ownership, other: Ownership): boolean {
  return move === other.move ? isServed && !other.isServed : move > other.move
}
