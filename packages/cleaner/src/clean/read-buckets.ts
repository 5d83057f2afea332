import {
  bucketsIn,
  formatRanges,
  parseRanges,
  toObject,
  unionOfRanges,
  withoutRanges,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { Part, Phase } from './part.ts'

/** The phases that read all entities. */
export type EntityPhase = Exclude<Phase, 'dangling'>

/**
 * Ranges of buckets by the time at which they came to their shard (`Placement.arrivalOfId`). A bucket that leaves the shard and comes back
 * has another time then.
 */
export type BucketsByArrival = Readonly<Record<string, string>>

/** Groups the buckets that a shard serves (`Placement.servedOn`). */
export function byArrival(served: Iterable<readonly [bucket: number, arrival: number]>): BucketsByArrival {
  const groups = Map.groupBy(served, ([, arrival]) => arrival)
  return Object.fromEntries(
    Array.from(groups, ([arrival, some]) => [
      String(arrival),
      formatRanges(some.map(([bucket]) => [bucket, bucket] as const)),
    ]),
  )
}

/** Returns those of these buckets for which the test holds. */
export function bucketsWhere(
  buckets: BucketsByArrival,
  holds: (bucket: number, arrival: number) => boolean,
): BucketsByArrival {
  return byArrival(
    Object.entries(buckets).flatMap(([arrival, text]) =>
      bucketsIn(text).flatMap((bucket) =>
        holds(bucket, Number(arrival)) ? [[bucket, Number(arrival)] as const] : [],
      ),
    ),
  )
}

export const bucketsOf = (buckets: BucketsByArrival): string => unionOfRanges(...Object.values(buckets))

/**
 * Returns the buckets that no part has read in a phase, given the parts of an index on all shards. A part has read a bucket once one shard
 * has owned it during the whole reading, and then it stays read: a bucket that moves on has all of its index rows. A bucket that came to a
 * shard during the reading, or later, from a shard that had not read it, is unread. Its entities have to be read where it is now:
 * 1. A filling has read all entities of shard 1.
 * 2. A bucket moves from shard 0 to shard 1, and shard 0 deletes its entities before they were read there.
 * 3. The index would become ready without their rows.
 */
export function unreadBuckets(
  { router }: EngineContext,
  parts: readonly Pick<Part, 'read'>[],
  phase: EntityPhase,
): string {
  const count = router.buckets?.shards.length ?? 0
  if (count === 0) return ''
  return withoutRanges(`0-${count - 1}`, unionOfRanges(...parts.map(({ read }) => read[phase])))
}

/** Parses the buckets of a stored part. Returns undefined for anything else. */
export function byArrivalFrom(value: unknown): BucketsByArrival | undefined {
  const object = toObject(value)
  if (object === undefined || !Object.values(object).every(isRanges)) return undefined
  return object as BucketsByArrival
}

/** Parses the buckets that a stored part has read, by phase. Returns undefined for anything else. */
export function readFrom(value: unknown): Record<EntityPhase, string> | undefined {
  const { entities, check } = toObject(value) ?? {}
  return isRanges(entities) && isRanges(check) ? { entities, check } : undefined
}

const isRanges = (value: unknown): value is string =>
  typeof value === 'string' && parseRanges(value) !== undefined
