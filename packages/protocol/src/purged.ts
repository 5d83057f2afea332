import { LooseleafError, type Shard } from '@looseleaf/core'
import type { FloorState, UpdatedPlace } from '@looseleaf/core/internal'
import { sharedByShard, type SharedWork } from './shared-by-shard.ts'
import { shardAt } from './shards.ts'

/** Place of a follower, which has received all changes before it. */
export interface FollowedPlace extends UpdatedPlace {
  /**
   * Floor at which the follower began, or a lower one after a failover, in microseconds since 1970. The follower never knew entities that
   * were deleted before. 0, with a place of 0, for a follower that has not begun.
   */
  readonly since: number
}

/** Throws `CHANGES_GONE` if the tombstone of a deletion after the place may be purged. */
export function requireUnpurged(
  shard: Pick<Shard, 'name'>,
  { purged }: Pick<FloorState, 'purged'>,
  { updated, since }: FollowedPlace,
): void {
  if (Math.max(updated, since) >= purged.updated) return
  throw new LooseleafError(
    'CHANGES_GONE',
    `${shard.name}: tombstones after this place of the changes were purged (keepTombstonesMs), so deletions would be missed. Begin again with 'beginning', and drop everything that no change confirms.`,
    { shard: shard.name },
  )
}

/**
 * Prepares the retry of a write after `STALE_EPOCH`: reads the shard's catalog, and advances the clock above the versions of purged
 * tombstones, in case an insert was rejected because the clock is behind them. The calls of a process share the statements.
 */
export const catchUp: SharedWork = sharedByShard(async (context, shard) => {
  const [, { purged }] = await Promise.all([
    context.catalog.reloadShard(shard),
    shardAt(context, shard).entities.floor(),
  ])
  context.clock.next(purged.version)
})
