import { bucketsIn } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { OwnedWatch } from '@looseleaf/protocol/internal'
import type { PartLease } from './part-lease.ts'
import type { Part } from './part.ts'
import { bucketsOf, bucketsWhere, byArrival } from './read-buckets.ts'

/** Parts that are at the same place and read the same buckets. */
export interface Readers {
  readonly leases: readonly PartLease[]
  /** Tells whether they read an entity. */
  isRead(row: { readonly id: Uint8Array }): boolean
}

/** The buckets that some parts read in one pass over the entities of a shard. */
export interface Readings {
  /** Groups parts by their place and buckets. */
  of(leases: readonly PartLease[]): Iterable<Readers>
  /** Takes the buckets that the shard has lost away from the parts (`Part.reading`). Call it after each look of the watch. */
  dropLost(): void
  /** Returns the share of the shard's buckets that the part reads, from 0 to 1. */
  shareOf(part: Part): number
}

/**
 * Begins or resumes a pass over the entities of a shard, which the watch covers. A part begins with the buckets that the shard owns by now.
 * A part that is resumed goes on with those of its buckets that the shard has kept: others were not read whole, or came back with new
 * places.
 */
export function createReadings(
  { router }: EngineContext,
  shard: number,
  watch: OwnedWatch,
  leases: readonly PartLease[],
): Readings {
  const served = watch.catalog.placement.servedOn(shard)
  const texts = new Map<Part, string>()
  const sets = new Map<string, ReadonlySet<number>>()
  const textOf = (part: Part): string => texts.get(part)!
  const readBy = (part: Part): ReadonlySet<number> => sets.get(textOf(part))!
  const all = byArrival(served)
  let kept = watch.kept.size

  function read(part: Part, reading: Part['reading'] & object): void {
    const text = bucketsOf(reading)
    part.reading = reading
    texts.set(part, text)
    if (!sets.has(text)) sets.set(text, new Set(bucketsIn(text)))
  }

  for (const { part } of leases) {
    // A place counts for the buckets that were noted with it alone.
    if (part.reading === undefined) part.addedId = 0
    const isKept = (bucket: number, arrival: number): boolean => served.get(bucket) === arrival
    read(part, part.reading === undefined ? all : bucketsWhere(part.reading, isKept))
  }

  return {
    *of(open) {
      for (const group of Map.groupBy(open, ({ part }) => `${part.addedId} ${textOf(part)}`).values()) {
        const buckets = readBy(group[0]!.part)
        // By a layout without moves, an entity on the wrong shard is read as well.
        const isRead: Readers['isRead'] = ({ id }) =>
          router.buckets === undefined ||
          watch.catalog.layout?.moves === undefined ||
          buckets.has(router.buckets.ofId(id))
        yield { leases: group, isRead }
      }
    },
    dropLost() {
      if (kept === watch.kept.size) return
      kept = watch.kept.size
      for (const { part } of leases)
        read(
          part,
          bucketsWhere(part.reading!, (bucket) => watch.kept.has(bucket)),
        )
    },
    shareOf: (part) => (served.size === 0 ? 1 : readBy(part).size / served.size),
  }
}
