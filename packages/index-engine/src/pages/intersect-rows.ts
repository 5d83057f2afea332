import type { Direction, KeyRange } from '@looseleaf/core/internal'
import type { QueryOrder } from '../definitions/index-reader.ts'
import type { RowPlace } from './cursor.ts'
import { findPlace, placeOrder } from './place-order.ts'
import type { FetchRows, RowSource, RowsStart } from './row-source.ts'

/** A range of a condition, with the number of the condition. */
interface IntersectedRange {
  readonly index: number
  readonly range: KeyRange
  /** Shards that may have rows of the range. */
  readonly shards: readonly number[]
}

/** The ranges of one condition: one, or with lists one per combination of their values. A row of any of them satisfies the condition. */
export type IntersectedRanges = readonly IntersectedRange[]

export interface IntersectedGroups {
  /**
   * Groups of conditions whose rows are matched with each other. If every index keeps the rows of an entity on the entity's shard, each
   * shard is a group; otherwise one group has all conditions.
   */
  readonly groups: readonly (readonly IntersectedRanges[])[]
  /** Directions of the columns after the prefix, the same for every range. */
  readonly directions: readonly Direction[]
}

/** The rows of one range on one shard. Their keys lack the prefix of the range. */
interface Stream extends Omit<IntersectedRange, 'shards'> {
  readonly shard: number
  /** Rows of the last scan, in order. The rows from `next` on are not passed yet. */
  rows: readonly RowPlace[]
  next: number
  /** True if the shard has no row behind `rows`. */
  ended: boolean
  /** Requested rows of the last scan; 0 before the first scan. */
  size: number
  /** Number of seeks that ended among `rows`. */
  stops: number
}

interface Group {
  /** The streams of each condition: one per range and shard. */
  readonly conditions: readonly (readonly Stream[])[]
  /** Start of the undecided places: every place before it is decided. */
  from: RowsStart | undefined
  /** A common place that is found but not taken yet. */
  head: RowPlace | undefined
  ended: boolean
}

/** Bounds for the rows of a scan, after the first scan. */
const MIN_FETCH = 16
const MAX_FETCH = 1000
/** Reading so many rows costs about as much as another statement. */
const ROWS_PER_STATEMENT_COST = 100

/**
 * Finds the places that have a row of every condition, by zigzag: the condition whose next row is furthest sets the place, and the other
 * conditions seek to it, among the rows in memory or by a scan from there. A stream doubles the size of its scans if seeks often end among
 * its rows, and halves it if they skip most of them.
 *
 * An inclusive start always comes first, with or without rows, because only the entity tells whether it still stands there.
 */
export function intersectRows(
  { groups: all, directions }: IntersectedGroups,
  order: QueryOrder,
  start: RowsStart | undefined,
  maxRows: number,
  fetch: FetchRows,
): RowSource {
  const compare = placeOrder(directions, order)
  const groups = all.map((conditions): Group => ({
    conditions: conditions.map((ranges) =>
      ranges.flatMap(({ index, range, shards }) =>
        shards.map((shard) => ({ index, range, shard, rows: [], next: 0, ended: false, size: 0, stops: 0 })),
      ),
    ),
    from: start && { ...start, inclusive: false },
    head: undefined,
    ended: false,
  }))
  let atStart = start?.inclusive === true ? start : undefined
  let rowsRead = 0
  let stopped: RowsStart | undefined

  /** Moves a stream to its first row from `from` on. Returns false if the stream has to scan for that. */
  function seek(stream: Stream, from: RowsStart | undefined): boolean {
    const { rows, next } = stream
    if (from !== undefined && next < rows.length) {
      const distance = compare(rows[next] as RowPlace, from)
      if (distance < 0 || (distance === 0 && !from.inclusive)) {
        const { position, isFound } = findPlace(rows, from, compare)
        stream.next = isFound && !from.inclusive ? position + 1 : position
        stream.stops++
      }
    }
    return stream.ended || stream.next < rows.length
  }

  async function scan(stream: Stream, from: RowsStart | undefined, wanted: number): Promise<void> {
    const { range, shard, index } = stream
    const { prefix } = range
    stream.size = nextSize(stream, wanted)
    const after = from && { ...from, key: [...prefix, ...from.key] }
    const rows = await fetch(range, shard, after, stream.size, index)
    rowsRead += rows.length
    stream.rows = rows.map(({ key, entityId }) => ({ key: key.slice(prefix.length), entityId }))
    stream.next = 0
    stream.stops = 0
    stream.ended = rows.length < stream.size
  }

  /** Returns the first of the next rows of a condition's streams. */
  function headOf(streams: readonly Stream[]): RowPlace | undefined {
    let head: RowPlace | undefined
    for (const { rows, next } of streams) {
      const row = rows[next]
      if (row !== undefined && (head === undefined || compare(row, head) < 0)) head = row
    }
    return head
  }

  /** Finds the next common place of a group. Returns without one at the end of the group, or after `maxRows`. */
  async function findNext(group: Group, wanted: number): Promise<void> {
    while (group.head === undefined && !group.ended) {
      const { from } = group
      const exhausted = group.conditions.flat().filter((stream) => !seek(stream, from))
      if (exhausted.length > 0) {
        if (rowsRead >= maxRows) return
        await Promise.all(exhausted.map((stream) => scan(stream, from, wanted)))
      }
      const heads = group.conditions.map(headOf)
      let last: RowPlace | undefined
      for (const head of heads) {
        if (head === undefined) {
          group.ended = true
          return
        }
        if (last === undefined || compare(head, last) > 0) last = head
      }
      const furthest = last as RowPlace
      const isCommon = heads.every((head) => compare(head as RowPlace, furthest) === 0)
      group.from = { ...furthest, inclusive: !isCommon }
      if (isCommon) group.head = furthest
    }
  }

  /** Returns the start of a group's remaining places; undefined at its end. */
  function remainderOf({ head, from, ended }: Group): RowsStart | undefined {
    if (head !== undefined) return { ...head, inclusive: true }
    return ended ? undefined : from
  }

  function firstOf(places: readonly (RowsStart | undefined)[]): RowsStart | undefined {
    let first: RowsStart | undefined
    for (const place of places) {
      if (place === undefined) continue
      const distance = first === undefined ? -1 : compare(place, first)
      if (distance < 0 || (distance === 0 && place.inclusive)) first = place
    }
    return first
  }

  return {
    async take(count) {
      const taken: RowPlace[] = []
      if (atStart !== undefined) taken.push(atStart)
      atStart = undefined
      while (taken.length < count) {
        await Promise.all(groups.map((group) => findNext(group, count)))
        if (groups.some(({ head, ended }) => head === undefined && !ended)) {
          stopped = firstOf(groups.map(remainderOf))
          return taken
        }
        const first = firstOf(groups.map(remainderOf))
        const group = groups.find(({ head }) => head !== undefined && compare(head, first as RowsStart) === 0)
        if (group === undefined) return taken
        taken.push(group.head as RowPlace)
        group.head = undefined
      }
      return taken
    },
    mayCome: (place) =>
      groups.some((group) => {
        const remainder = remainderOf(group)
        if (remainder === undefined) return false
        const distance = compare(place, remainder)
        return distance > 0 || (distance === 0 && remainder.inclusive)
      }),
    stoppedAt: () => stopped,
  }
}

/** Returns the size of the next scan: first the wanted number, then by the use of the last scan. */
function nextSize({ size, rows, stops }: Stream, wanted: number): number {
  if (size === 0) return Math.max(MIN_FETCH, wanted)
  const wasUseful = rows.length <= ROWS_PER_STATEMENT_COST * stops
  return wasUseful ? Math.min(MAX_FETCH, size * 2) : Math.max(MIN_FETCH, size >> 1)
}
