import type { FloorState, Shard, UpdatedPlace } from '@looseleaf/core'

/** The floor up to which a follower of a shard may read, and the database's time, both in microseconds since 1970. */
export interface ReadableFloor {
  readonly floor: number
  readonly now: number
  /** Whether what was visible before the call is on disk, unless the server was started anew meanwhile. */
  readonly isFlushed: boolean
  /** The bounds of the tombstones that were purged, as they were before the floor was raised. */
  readonly purged: FloorState['purged']
}

/**
 * A floor of the shard that no crash undoes, raised where it is older than `maxAgeMs`. It is below `place`, where the follower stands, only
 * where a failover has lost commits: times that were read before are given once more then.
 */
export async function readableFloor(
  shard: Shard,
  place: Pick<UpdatedPlace, 'updated'>,
  maxAgeMs: number,
  signal: AbortSignal | undefined,
): Promise<ReadableFloor> {
  const { floor, now, purged } = await shard.entities.floor({ signal })
  if (floor < place.updated) return { floor, now, purged, isFlushed: false }
  if (isFloorOld({ floor, now }, maxAgeMs)) {
    const raised = await shard.entities.raiseFloor({ signal })
    // What others have raised it to since may not be on disk; as far as this the raise itself has made sure of it.
    return { floor: Math.min(raised, Math.max(floor, now)), now, purged, isFlushed: true }
  }
  if (floor === place.updated) return { floor, now, purged, isFlushed: false }
  // Raised by another process, whose commit may not be on disk, nor may what is below it.
  await shard.flush({ signal })
  const again = await shard.entities.floor({ signal })
  return { floor: Math.min(floor, again.floor), now, purged, isFlushed: true }
}

/** Whether a floor may have been raised so long ago. One that is ahead of the clock says nothing of its age. */
export function isFloorOld({ floor, now }: Pick<ReadableFloor, 'floor' | 'now'>, maxAgeMs: number): boolean {
  return now < floor || now - floor >= maxAgeMs * 1_000
}

/** Before all rows of this time. */
export function placeAt(updated: number): UpdatedPlace {
  return { updated, addedId: 0 }
}
