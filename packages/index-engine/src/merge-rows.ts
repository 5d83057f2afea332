import type { Direction, KeyRange } from '@looseleaf/core'
import type { RowPlace } from './cursor.ts'
import { rangeOf } from './key-ranges.ts'
import { indexOfPlace, placeOrder } from './place-order.ts'
import type { PlannedRange } from './plan-query.ts'
import type { QueryOrder } from './query-types.ts'
import type { FetchRows, RowsStart } from './row-source.ts'

/** Index rows of several ranges and shards as one sequence in an order. */
export interface MergedRows {
  /** The next rows, at most so many; none when the shards have no more. */
  take(count: number): Promise<readonly RowPlace[]>
  /** Whether a row that is not among those taken may still come: it is in hand, or its place was not fetched yet. */
  mayCome(shard: number, place: RowPlace): boolean
}

/** The rows of one range on one shard. */
interface Stream {
  readonly range: KeyRange
  readonly shard: number
  /** Fetched and not taken, in order, from `next` on. */
  rows: readonly RowPlace[]
  next: number
  /** The last row that was fetched. */
  reached: RowPlace | undefined
  /** True when there is nothing behind `reached`. */
  ended: boolean
}

/** Scans that are begun at once for ranges whose turn has not come, at the most. */
const MAX_AHEAD = 16

/**
 * Merges the shards of each range, and gives the ranges one after the other: they are in the order of the index and have no
 * row in common. A range is not asked for before those that come first have given less than is wanted; then the next ones are
 * begun together, one at first and ever more, so that neither many full ranges nor many empty ones take long.
 *
 * A row at an inclusive start comes first, whether or not it is there: what stands at it is told by the entity.
 */
export function mergeRows(
  {
    ranges,
    directions,
  }: { readonly ranges: readonly PlannedRange[]; readonly directions: readonly Direction[] },
  order: QueryOrder,
  start: RowsStart | undefined,
  fetch: FetchRows,
): MergedRows {
  const compare = placeOrder(directions, order)
  const sorted = ranges.map(({ range }) => range)
  const streamsOf = ranges.map(({ range, shards }) =>
    shards.map((shard): Stream => ({ range, shard, rows: [], next: 0, reached: undefined, ended: false })),
  )
  const inTurn = order === 'asc' ? streamsOf : streamsOf.toReversed()
  /** The range whose turn it is. */
  let turn = 0
  if (start !== undefined) {
    // There is one: a cursor of a place in no range of its query is refused.
    const streams = streamsOf[rangeOf(sorted, start.key, directions)] as Stream[]
    turn = inTurn.indexOf(streams)
    const { key, entityId } = start
    for (const stream of streams) stream.reached = { key, entityId }
  }
  /** The first range that was not begun. */
  let begun = turn
  let ahead = 1
  let atStart = start?.inclusive === true ? start : undefined

  async function refill(stream: Stream, size: number): Promise<void> {
    const rows = await fetch(stream.range, stream.shard, stream.reached, size, 0)
    stream.rows = rows
    stream.next = 0
    stream.reached = rows.at(-1) ?? stream.reached
    stream.ended = rows.length < size
  }

  /** The streams of the next ranges, together at least `ahead`. */
  function begin(): readonly Stream[] {
    const streams: Stream[] = []
    while (begun < inTurn.length && streams.length < ahead) streams.push(...(inTurn[begun++] as Stream[]))
    ahead = Math.min(MAX_AHEAD, ahead * 2)
    return streams
  }

  /** The stream whose next row comes first. Every stream has rows in hand or has ended. */
  function first(streams: readonly Stream[]): Stream | undefined {
    let best: Stream | undefined
    for (const stream of streams) {
      const row = stream.rows[stream.next]
      const bestRow = best?.rows[best.next]
      if (row === undefined) continue
      if (bestRow === undefined || compare(row, bestRow) < 0) best = stream
    }
    return best
  }

  return {
    async take(count) {
      const taken: RowPlace[] = []
      if (atStart !== undefined) taken.push(atStart)
      atStart = undefined
      while (taken.length < count && turn < inTurn.length) {
        const streams = inTurn[turn] as readonly Stream[]
        const empty =
          turn < begun ? streams.filter(({ ended, next, rows }) => !ended && next >= rows.length) : begin()
        if (empty.length === 1) await refill(empty[0]!, count)
        else if (empty.length > 1) await Promise.all(empty.map((stream) => refill(stream, count)))
        const stream = first(streams)
        if (stream === undefined) {
          turn++
          continue
        }
        // One that is alone is not held against others row by row.
        const end = streams.length > 1 ? stream.next + 1 : stream.next + count - taken.length
        while (stream.next < end && stream.next < stream.rows.length)
          taken.push(stream.rows[stream.next++] as RowPlace)
      }
      return taken
    },
    mayCome(shard, place) {
      const stream = streamsOf[rangeOf(sorted, place.key, directions)]?.find(
        (candidate) => candidate.shard === shard,
      )
      if (stream === undefined) return false
      const { reached, ended, rows, next } = stream
      if (!ended && (reached === undefined || compare(reached, place) < 0)) return true
      const { at, isThere } = indexOfPlace(rows, place, compare)
      return isThere && at >= next
    },
  }
}
