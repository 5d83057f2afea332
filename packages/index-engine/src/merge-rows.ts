import type { KeyRange } from '@looseleaf/core'
import { compareKeys } from './compare-keys.ts'
import type { RowPlace } from './cursor.ts'
import { rangeOf } from './key-ranges.ts'
import type { PlannedRange } from './plan-query.ts'
import type { QueryOrder } from './query-types.ts'

/** Index rows of several ranges and shards as one sequence in an order. */
export interface MergedRows {
  /** The next rows, at most so many; none when the shards have no more. */
  take(count: number): Promise<readonly RowPlace[]>
  /** Whether a row that is not among those taken may still come: it is in hand, or its place was not fetched yet. */
  mayCome(shard: number, place: RowPlace): boolean
}

/** Where the rows begin: behind a place, or with it where it is inclusive. */
export interface RowsStart extends RowPlace {
  readonly inclusive: boolean
}

/** Reads rows of a range on a shard, behind a place or from the range's beginning, as many as there are up to `size`. */
export type FetchRows = (
  range: KeyRange,
  shard: number,
  after: RowPlace | undefined,
  size: number,
) => Promise<readonly RowPlace[]>

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

/** The order of two rows of one index. Negative when `a` comes first. */
export function comparePlaces(a: RowPlace, b: RowPlace, order: QueryOrder): number {
  const ascending = compareKeys(a.key, b.key) || Buffer.compare(a.entityId, b.entityId)
  return order === 'asc' ? ascending : -ascending
}

/** Where in a list that is in this order a place stands, or would: behind all that come before it. */
export function indexOfPlace(
  rows: readonly RowPlace[],
  place: RowPlace,
  order: QueryOrder,
): { readonly at: number; readonly isThere: boolean } {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const distance = comparePlaces(rows[middle] as RowPlace, place, order)
    if (distance === 0) return { at: middle, isThere: true }
    if (distance < 0) low = middle + 1
    else high = middle
  }
  return { at: low, isThere: false }
}

/**
 * Merges the shards of each range, and gives the ranges one after the other: they are in rising order and have no row in
 * common. A range is not asked for before those that come first have given less than is wanted; then the next ones are
 * begun together, one at first and ever more, so that neither many full ranges nor many empty ones take long.
 *
 * A row at an inclusive start comes first, whether or not it is there: what stands at it is told by the entity.
 */
export function mergeRows(
  ranges: readonly PlannedRange[],
  order: QueryOrder,
  start: RowsStart | undefined,
  fetch: FetchRows,
): MergedRows {
  const sorted = ranges.map(({ range }) => range)
  const streamsOf = ranges.map(({ range, shards }) =>
    shards.map((shard): Stream => ({ range, shard, rows: [], next: 0, reached: undefined, ended: false })),
  )
  const inTurn = order === 'asc' ? streamsOf : streamsOf.toReversed()
  /** The range whose turn it is. */
  let turn = 0
  if (start !== undefined) {
    // There is one: a cursor of a place in no range of its query is refused.
    const streams = streamsOf[rangeOf(sorted, start.key)] as Stream[]
    turn = inTurn.indexOf(streams)
    for (const stream of streams) stream.reached = start
  }
  /** The first range that was not begun. */
  let begun = turn
  let ahead = 1
  let atStart = start?.inclusive === true ? start : undefined

  async function refill(stream: Stream, size: number): Promise<void> {
    const rows = await fetch(stream.range, stream.shard, stream.reached, size)
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
      if (bestRow === undefined || comparePlaces(row, bestRow, order) < 0) best = stream
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
        if (empty.length > 0) await Promise.all(empty.map((stream) => refill(stream, count)))
        const stream = first(streams)
        if (stream === undefined) {
          turn++
          continue
        }
        taken.push(stream.rows[stream.next] as RowPlace)
        stream.next++
      }
      return taken
    },
    mayCome(shard, place) {
      const stream = streamsOf[rangeOf(sorted, place.key)]?.find((candidate) => candidate.shard === shard)
      if (stream === undefined) return false
      const { reached, ended, rows, next } = stream
      if (!ended && (reached === undefined || comparePlaces(reached, place, order) < 0)) return true
      const { at, isThere } = indexOfPlace(rows, place, order)
      return isThere && at >= next
    },
  }
}
