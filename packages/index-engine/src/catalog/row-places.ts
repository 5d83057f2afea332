import type { LayoutMove } from '@looseleaf/core/internal'
import { damagedLayout, knownBuckets } from './layout.ts'

/** The shards of index rows and claims, by bucket. */
export interface RowPlaces {
  /** The shard where they are read. */
  readonly readAt: readonly number[]
  /** The shards where they are written and deleted: one, or the source and the target of an announced move, in this order. */
  readonly writtenAt: readonly (readonly number[])[]
}

/**
 * Returns the places of rows by a layout. Every two phases of a move that follow each other have a place in common, where they read and
 * write or where they claim, so processes that are a phase apart find each other's rows and claims.
 */
export function rowPlacesOf(
  layoutOwners: readonly number[],
  moves: readonly LayoutMove[],
  shardCount: number,
): RowPlaces {
  const single = singleShards(shardCount)
  const readAt = [...layoutOwners]
  const writtenAt = layoutOwners.map((shard) => single[shard]!)
  const announced = new Map<number, number>()
  for (const { id, from, to, buckets, phase } of moves) {
    const shards = [from, to]
    if (from === to || shards.some((shard) => shard >= shardCount))
      throw damagedLayout(`move ${id} goes from shard ${from} to shard ${to}`)
    for (const bucket of knownBuckets(`move ${id}`, buckets, layoutOwners.length)) {
      if (announced.has(bucket))
        throw damagedLayout(`bucket ${bucket} is in the moves ${announced.get(bucket)} and ${id}`)
      announced.set(bucket, id)
      readAt[bucket] = phase === 'target' ? to : from
      writtenAt[bucket] = shards
    }
  }
  return { readAt, writtenAt }
}

/** Returns the list of each shard alone. Rows share these lists, so that a look-up allocates nothing. */
export function singleShards(shardCount: number): readonly (readonly number[])[] {
  return Array.from({ length: shardCount }, (_, shard) => [shard])
}
