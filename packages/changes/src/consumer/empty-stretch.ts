import type { UpdatedPlace } from '@looseleaf/core'
import { placeAt, type ReadableFloor } from '@looseleaf/protocol'
import type { HeldPartition } from './partition-leases.ts'

/**
 * Moves partitions past stretches in which no change was found, once a flushed commit has followed the page that found none: an entity
 * whose replacement was visible may be back in front of them after a crash. The next raise of the floor is such a commit, so an idle shard
 * needs no flush of its own.
 */
export interface EmptyStretch {
  /** Up to where nothing is known to wait behind a partition: its place, or the end of the stretch. */
  seen(partition: HeldPartition): UpdatedPlace
  /** The floor was read. Forgets a stretch that a failover has put above it. */
  floorIs(floor: number): void
  /**
   * A page up to this floor has found nothing behind these partitions; `opened` is what `openedTo` has said before it. Answers up to where
   * the partitions may move that an earlier page has found nothing behind either; undefined where there is no such proof yet.
   */
  found(
    partitions: readonly HeldPartition[],
    upTo: ReadableFloor,
    opened: number | undefined,
  ): { readonly end: UpdatedPlace; readonly of: readonly HeldPartition[] } | undefined
}

interface Stretch {
  readonly end: UpdatedPlace
  readonly opened: number | undefined
  readonly partitions: ReadonlySet<HeldPartition>
}

export function createEmptyStretch(): EmptyStretch {
  let last: Stretch | undefined

  return {
    seen(partition) {
      const isIn = last !== undefined && last.partitions.has(partition)
      return isIn && last!.end.updated > partition.place.updated ? last!.end : partition.place
    },
    floorIs(floor) {
      if (last !== undefined && floor < last.end.updated) last = undefined
    },
    found(partitions, { floor, isFlushed }, opened) {
      const before = last
      const isOneLife = before?.opened === opened
      if (isFlushed || !isOneLife) last = { end: placeAt(floor), opened, partitions: new Set(partitions) }
      if (before === undefined || !isOneLife || !isFlushed) return undefined
      return { end: before.end, of: partitions.filter((partition) => before.partitions.has(partition)) }
    },
  }
}
