/** A floor of a shard, and a moment: all that was acknowledged before it is known to whoever has replayed that floor. */
interface Mark {
  readonly floor: number
  readonly asOf: number
}

/** What was seen of the floor of a shard, by which it can be told how far its replicas are. Moments are of one clock that nobody sets. */
export interface ReplicaMarks {
  /** The floor was raised at this moment or later. */
  raised(floor: number, at: number): void
  /** The floor was read; the statement was sent at this moment. */
  seen(floor: number, sentAt: number): void
  /**
   * The moment up to which somebody knows everything who has replayed this floor; undefined where that cannot be told. Only floors above
   * `above` count.
   */
  asOf(replayed: number, above: number): number | undefined
}

/** A replica that is further behind than the oldest of so many marks has no age. Every other one goes when there are more. */
const MAX_MARKS = 4_096

/*
 * Whatever was acknowledged before a raise was sent is committed before it, and servers commit in one order: so a replica that shows
 * the floor of a raise has it. Who only sees that the floor has changed knows that it was raised after the look before.
 */
export function createReplicaMarks(): ReplicaMarks {
  let marks: Mark[] = []
  let last: { readonly floor: number; readonly sentAt: number } | undefined

  function add(mark: Mark): void {
    marks.push(mark)
    // The newest one stays.
    if (marks.length > MAX_MARKS) marks = marks.filter((_, i) => i % 2 === 0)
  }

  /** A failover has lost the last raises: what replicas have replayed of them says nothing of the primary that there is now. */
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
