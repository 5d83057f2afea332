import type { Direction, KeyRange } from '@looseleaf/core/internal'
import { rangeOf } from '../conditions/key-ranges.ts'
import type { QueryOrder } from '../definitions/index-reader.ts'
import type { RowPlace } from './cursor.ts'
import { findPlace, placeOrder } from './place-order.ts'
import type { PlannedRange } from './plan-query.ts'
import type { FetchRows, RowSource, RowsStart } from './row-source.ts'

/** Ranges of one index whose rows come as one ordered sequence. */
export interface MergedRanges {
  readonly ranges: readonly PlannedRange[]
  readonly directions: readonly Direction[]
  shardOf(place: RowPlace): number
  /** Whether the first scans are of as many streams as may start together. Default: of one. */
  readonly startsTogether?: boolean | undefined
}

interface Stream {
  readonly range: KeyRange
  readonly shard: number
  /** Rows of the last fetch, in order. The rows from `next` on are not taken yet. */
  rows: readonly RowPlace[]
  next: number
  /** The last row that was fetched. */
  reached: RowPlace | undefined
  /** True if the shard has no row behind `reached`. */
  ended: boolean
}

/** Largest number of scans that start together. */
const MAX_AHEAD = 16

/**
 * Merges the shards of each range, and gives the ranges in the order of the index. Ranges have no row in common. A range is fetched
 * only if the ranges before it have too few rows. Then the scans of 1, 2, 4, 8 and at most 16 streams start together, so that neither
 * many full ranges nor many empty ones take long.
 *
 * An inclusive start always comes first, with or without a row, because only the entity tells whether it still stands there.
 */
export function mergeRows(
  { ranges, directions, shardOf, startsTogether = false }: MergedRanges,
  order: QueryOrder,
  start: RowsStart | undefined,
  fetch: FetchRows,
): RowSource {
  const compare = placeOrder(directions, order)
  const sorted = ranges.map(({ range }) => range)
  const streamsOf = ranges.map(({ range, shards }) =>
    shards.map((shard): Stream => ({ range, shard, rows: [], next: 0, reached: undefined, ended: false })),
  )
  const inTurn = order === 'asc' ? streamsOf : streamsOf.toReversed()
  /** The range that rows are taken from. */
  let turn = 0
  if (start !== undefined) {
    // Some range contains the start, because `decodeCursor` refuses any other cursor.
    const streams = streamsOf[rangeOf(sorted, start.key, directions)] as Stream[]
    turn = inTurn.indexOf(streams)
    const { key, entityId } = start
    for (const stream of streams) stream.reached = { key, entityId }
  }
  /** The first range without a scan. */
  let begun = turn
  let ahead = startsTogether ? MAX_AHEAD : 1
  let atStart = start?.inclusive === true ? start : undefined

  async function refill(stream: Stream, size: number): Promise<void> {
    const rows = await fetch(stream.range, stream.shard, stream.reached, size, 0)
    stream.rows = rows
    stream.next = 0
    stream.reached = rows.at(-1) ?? stream.reached
    stream.ended = rows.length < size
  }

  /** Begins whole ranges, until they have at least `ahead` streams together. */
  function begin(): readonly Stream[] {
    const streams: Stream[] = []
    while (begun < inTurn.length && streams.length < ahead) streams.push(...(inTurn[begun++] as Stream[]))
    ahead = Math.min(MAX_AHEAD, ahead * 2)
    return streams
  }

  /** Returns the stream whose next row comes first. Requires that every stream has a row or has ended. */
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
        const exhausted =
          turn < begun ? streams.filter(({ ended, next, rows }) => !ended && next >= rows.length) : begin()
        if (exhausted.length === 1) await refill(exhausted[0]!, count)
        else if (exhausted.length > 1) await Promise.all(exhausted.map((stream) => refill(stream, count)))
        const stream = first(streams)
        if (stream === undefined) {
          turn++
          continue
        }
        // A single stream needs no comparison, so its rows are taken in one go.
        const end = streams.length > 1 ? stream.next + 1 : stream.next + count - taken.length
        while (stream.next < end && stream.next < stream.rows.length)
          taken.push(stream.rows[stream.next++] as RowPlace)
      }
      return taken
    },
    mayCome(place) {
      const shard = shardOf(place)
      const stream = streamsOf[rangeOf(sorted, place.key, directions)]?.find(
        (candidate) => candidate.shard === shard,
      )
      if (stream === undefined) return false
      const { reached, ended, rows, next } = stream
      if (!ended && (reached === undefined || compare(reached, place) < 0)) return true
      const { position, isFound } = findPlace(rows, place, compare)
      return isFound && position >= next
    },
    stoppedAt: () => undefined,
  }
}
