import type { Shard } from '@looseleaf/core'
import type { FloorState, UpdatedPlace } from '@looseleaf/core/internal'
import { openedTo } from './opened-connections.ts'

/** Floor up to which a follower may read a shard, and the database's time, both in microseconds since 1970. */
export interface ReadableFloor {
  readonly floor: number
  readonly now: number
  /** Whether every commit that was visible before the call is durable, unless the server restarted during the call. */
  readonly isFlushed: boolean
  /** Bounds of the purged tombstones, read before the floor was raised. */
  readonly purged: FloorState['purged']
  /** Epoch of the shard, read before the floor was raised. */
  readonly epoch: number
}

/**
 * Returns a durable floor of the shard, which is raised first if it is older than `maxAgeMs`. `place` is that of the follower. The floor is
 * below it only after a failover that lost commits, after which later writes reuse times that the follower has read.
 */
export async function readableFloor(
  shard: Shard,
  place: Pick<UpdatedPlace, 'updated'>,
  maxAgeMs: number,
  signal: AbortSignal | undefined,
): Promise<ReadableFloor> {
  const { floor, now, purged, epoch } = await shard.entities.floor({ signal })
  if (floor < place.updated) return { floor, now, purged, epoch, isFlushed: false }
  if (isFloorOld({ floor, now }, maxAgeMs)) {
    const raised = await shard.entities.raiseFloor({ signal })
    // Another process may have raised the floor further since, which may not be on disk. This raise is durable.
    return { floor: Math.min(raised, Math.max(floor, now)), now, purged, epoch, isFlushed: true }
  }
  if (floor === place.updated) return { floor, now, purged, epoch, isFlushed: false }
  // Another process has raised the floor. Its commit, and the rows below the floor, may not be on disk yet.
  await shard.flush({ signal })
  const again = await shard.entities.floor({ signal })
  return { floor: Math.min(floor, again.floor), now, purged, epoch, isFlushed: true }
}

/**
 * Returns a time below a floor that is on disk, and above every earlier time of this function and every earlier floor; in microseconds since
 * 1970. The first raise may return the floor of another process, whose raise is not on disk; the second raise is, and follows it.
 */
export async function timeBelowFloor(shard: Shard, signal: AbortSignal | undefined): Promise<number> {
  for (;;) {
    const before = openedTo(shard)
    const time = await shard.entities.raiseFloor({ signal })
    const raised = await shard.entities.raiseFloor({ signal })
    // A crash in between may have lowered the floor again.
    if (raised > time && openedTo(shard) === before) return time
  }
}

/** Tells whether a floor may be at least this old. The age of a floor ahead of the clock is unknown, so it counts as old. */
export function isFloorOld({ floor, now }: Pick<ReadableFloor, 'floor' | 'now'>, maxAgeMs: number): boolean {
  return now < floor || now - floor >= maxAgeMs * 1_000
}

/** Returns the place of a row. */
export function placeOf({ updated, addedId }: UpdatedPlace): UpdatedPlace {
  return { updated, addedId }
}

/** Returns the place before all rows of this time. */
export function placeAt(updated: number): UpdatedPlace {
  return { updated, addedId: 0 }
}
