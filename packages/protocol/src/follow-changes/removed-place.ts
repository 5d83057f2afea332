import { LooseleafError } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import { isRemoved, type EngineContext } from '@looseleaf/index-engine/internal'
import { placeAt } from '../floor.ts'
import type { FollowedPlace } from '../purged.ts'
import { shardAt } from '../shards.ts'

/** Tells whether changes that the follower has not read may be deleted. A follower that began after that gets the copies instead. */
export function isGone({ updated, since }: FollowedPlace, { end, emptied }: AwayBuckets): boolean {
  return emptied !== undefined && updated < end && since < emptied
}

/** Returns the buckets that a removed shard had given up, by the catalog of this process; undefined for any other shard. */
export function removedAway({ catalog }: EngineContext, number: number): readonly AwayBuckets[] | undefined {
  const { layout } = catalog.latest()
  return isRemoved(layout, number) ? (layout?.shards[number]?.away ?? []) : undefined
}

/**
 * Returns the place of a follower on a removed shard, which has no change that it still has to read; undefined for any other shard. A follower
 * that has not begun there takes the copies of the moved entities instead, as one that began after their deletion. Throws `CHANGES_GONE` if
 * changes after its place were deleted.
 */
export function placeOnRemoved(
  context: EngineContext,
  number: number,
  place: FollowedPlace | undefined,
): FollowedPlace | undefined {
  const away = removedAway(context, number)
  if (away === undefined) return undefined
  if (place === undefined || (place.updated === 0 && place.since === 0)) {
    const after = Math.max(1, ...away.flatMap(({ end, emptied = 0 }) => [end, emptied]))
    return { ...placeAt(after), since: after }
  }
  const gone = away.find((record) => isGone(place, record))
  if (gone !== undefined) throw changesGone(context, number, gone)
  return place
}

export function changesGone(context: EngineContext, number: number, { to }: AwayBuckets): LooseleafError {
  const { name } = shardAt(context, number)
  return new LooseleafError(
    'CHANGES_GONE',
    `${name}: entities after this place of the changes moved to shard ${to}, and were deleted here. Begin again with 'beginning', and drop everything that no change confirms.`,
    { shard: name },
  )
}
