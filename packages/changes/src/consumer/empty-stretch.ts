import type { UpdatedPlace } from '@looseleaf/core/internal'
import { placeAt, type ReadableFloor } from '@looseleaf/protocol/internal'
import type { HeldPartition } from './partition-leases.ts'

/**
 * Moves partitions past a stretch without changes, but only after a flushed commit that follows the empty page. Without the flush:
 * 1. A write moves an entity out of the stretch; its commit is visible but not durable.
 * 2. The page finds the stretch empty, and the partition moves to its end.
 * 3. The server crashes and loses the write, so the entity is back in the stretch, and no consumer would read it.
 * The next raise of the floor is a flushed commit, so an idle shard needs no flush for this.
 */
export interface EmptyStretch {
  /** Returns the end of the empty stretch if it contains the partition's place and is ahead of it, otherwise that place. */
  endFor(partition: HeldPartition): UpdatedPlace
  /** Forgets the stretch if the floor is now below its end, as after a failover. */
  checkFloor(floor: number): void
  /**
   * Records an empty page of these partitions up to this floor. `opened` is the value of `openedTo` before the page: if it changed, the
   * server may have restarted in between. Returns the partitions that an earlier page found empty too and that may now move to `end`;
   * undefined while no flushed commit proves that.
   */
  recordEmpty(
    partitions: readonly HeldPartition[],
    upTo: ReadableFloor,
    opened: number | undefined,
  ): { readonly end: UpdatedPlace; readonly proven: readonly HeldPartition[] } | undefined
}

interface Stretch {
  readonly end: UpdatedPlace
  readonly opened: number | undefined
  readonly partitions: ReadonlySet<HeldPartition>
}

export function createEmptyStretch(): EmptyStretch {
  let last: Stretch | undefined

  return {
    endFor(partition) {
      const isIn = last !== undefined && last.partitions.has(partition)
      return isIn && last!.end.updated > partition.place.updated ? last!.end : partition.place
    },
    checkFloor(floor) {
      if (last !== undefined && floor < last.end.updated) last = undefined
    },
    recordEmpty(partitions, { floor, isFlushed }, opened) {
      const before = last
      const isSameServer = before?.opened === opened
      if (isFlushed || !isSameServer) last = { end: placeAt(floor), opened, partitions: new Set(partitions) }
      if (before === undefined || !isSameServer || !isFlushed) return undefined
      return { end: before.end, proven: partitions.filter((partition) => before.partitions.has(partition)) }
    },
  }
}
