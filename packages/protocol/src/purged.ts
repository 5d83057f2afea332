import {
  LooseleafError,
  type CallOptions,
  type FloorState,
  type Shard,
  type UpdatedPlace,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from './shards.ts'

/** A place of a follower, who has been given everything before it that it had to be told. */
export interface FollowedPlace extends UpdatedPlace {
  /**
   * The floor when the follower began, or a lower one that a failover has left since, in microseconds since 1970. The follower has never
   * known an entity that was deleted before. 0, with a place of 0, for a follower that has not begun.
   */
  readonly since: number
}

/** Throws `CHANGES_GONE` where the tombstone of a deletion behind the place may be gone. */
export function requireUnpurged(
  shard: Pick<Shard, 'name'>,
  { purged }: Pick<FloorState, 'purged'>,
  { updated, since }: FollowedPlace,
): void {
  if (Math.max(updated, since) >= purged.updated) return
  throw new LooseleafError(
    'CHANGES_GONE',
    `${shard.name}: tombstones behind this place of the changes were purged (keepTombstonesMs), so deletions would be missed. Begin again with 'beginning', and let go of what no change confirms.`,
    { shard: shard.name },
  )
}

/**
 * Follows a refusal of an epoch: reads the catalog anew, and sets the clock above the versions of purged tombstones, in case it is so
 * far behind that an insert was refused for its version.
 */
export async function catchUp(context: EngineContext, shard: number, options: CallOptions): Promise<void> {
  const [, { purged }] = await Promise.all([
    context.catalog.reload(options),
    shardAt(context, shard).entities.floor(options),
  ])
  context.clock.next(purged.version)
}
