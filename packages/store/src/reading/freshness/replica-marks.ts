/** A floor of a shard and a moment. A replica with that floor knows every write that was acknowledged before the moment. */
interface Mark {
  readonly floor: number
  readonly asOf: number
}

/** Records the floors of a primary, to tell the age of its replicas. Moments are of one monotonic clock. */
export interface ReplicaMarks {
  /** Records that the floor was raised at this moment or later. */
  raised(floor: number, at: number): void
  /** Records that the floor was read by a statement sent at this moment. */
  seen(floor: number, sentAt: number): void
  /**
   * Returns the moment up to which a replica with this floor knows every acknowledged write; undefined if unknown. Ignores floors up to
   * `above`.
   */
  asOf(replayed: number, above: number): number | undefined
}

/** Number of marks. Every other mark is dropped when there are more. A replica behind the oldest mark has an unknown age. */
const MAX_MARKS = 4_096

/*
 * 1. A write that was acknowledged before a raise was sent is committed before the raise.
 * 2. A replica replays commits in the order of its primary, so a replica with the floor of a raise has the write.
 * 3. If a read finds a higher floor than the read before, the raise came after that earlier read was sent.
 */
export function createReplicaMarks(): ReplicaMarks {
  let marks: Mark[] = []
  let last: { readonly floor: number; readonly sentAt: number } | undefined

  function add(mark: Mark): void {
    marks.push(mark)
    // The newest mark stays: the number of marks is odd here.
    if (marks.length > MAX_MARKS) marks = marks.filter((_, i) => i % 2 === 0)
  }

  /** Drops all marks if a failover has lost the last raises, because replicas may have replayed a history that the primary lacks. */
  function noteFall(floor: number): void {
    if (last !== undefined && floor < last.floor) marks = []
  }

  return {
    raised(floor, at) {
      noteFall(floor)
      add({ floor, asOf: at })
      last = { floor, sentAt: at }
    },
    seen(floor, sentAt) {
      noteFall(floor)
      if (last !== undefined && floor > last.floor) add({ floor, asOf: last.sentAt })
      last = { floor, sentAt }
    },
    asOf: (replayed, above) => marks.findLast(({ floor }) => floor <= replayed && floor > above)?.asOf,
  }
}
