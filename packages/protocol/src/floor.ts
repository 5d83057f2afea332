import type { FloorState, Shard, UpdatedPlace } from '@looseleaf/core'

/** The floor up to which a follower of a shard may read, and the database's time, both in microseconds since 1970. */
export interface ReadableFloor {
  readonly floor: number
  readonly now: number
}

/** Beside the bounds of the tombstones that were purged, as they were before the floor was read or raised. */
type ReadFloor = ReadableFloor & Pick<FloorState, 'purged'>

/**
 * A floor of the shard that no crash undoes, raised where it is older than `maxAgeMs`. It is below `place`, where the follower stands, only
 * where a failover has lost commits: times that were read before are given once more then.
 */
export async function readableFloor(
  shard: Shard,
  place: Pick<UpdatedPlace, 'updated'>,
  maxAgeMs: number,
  signal: AbortSignal | undefined,
): Promise<ReadFloor> {
  const { floor, now, purged } = await shard.entities.floor({ signal })
  if (floor < place.updated) return { floor, now, purged }
  if (isFloorOld({ floor, now }, maxAgeMs)) {
    const raised = await shard.entities.raiseFloor({ signal })
    // What others have raised it to since may not be on disk; as far as this the raise itself has made sure of it.
    return { floor: Math.min(raised, Math.max(floor, now)), now, purged }
  }
  if (floor === place.updated) return { floor, now, purged }
  // Raised by another process, whose commit may not be on disk, nor may what is below it.
  await shard.flush({ signal })
  return { floor: Math.min(floor, (await shard.entities.floor({ signal })).floor), now, purged }
}

/** Whether a floor may have been raised so long ago. One that is ahead of the clock says nothing of its age. */
export function isFloorOld({ floor, now }: ReadableFloor, maxAgeMs: number): boolean {
  return now < floor || now - floor >= maxAgeMs * 1_000
}

/** Before all rows of this time. */
export function placeAt(updated: number): UpdatedPlace {
  return { updated, addedId: 0 }
}
