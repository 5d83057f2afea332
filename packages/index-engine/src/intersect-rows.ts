import type { Direction, KeyRange } from '@looseleaf/core'
import type { RowPlace } from './cursor.ts'
import { indexOfPlace, placeOrder } from './place-order.ts'
import type { QueryOrder } from './query-types.ts'
import type { FetchRows, RowSource, RowsStart } from './row-source.ts'

/** The range of one index of an intersection. */
export interface IntersectedRange {
  /** Its place among the conditions. */
  readonly index: number
  readonly range: KeyRange
  /** Where its rows may be. */
  readonly shards: readonly number[]
}

export interface IntersectedRanges {
  /**
   * Ranges whose rows are matched with each other. Where the rows of one entity stand together on one shard in every index, there
   * is a group for each shard; otherwise one for all.
   */
  readonly groups: readonly (readonly IntersectedRange[])[]
  /** Which way the columns behind the prefix of each range stand: the same in all. */
  readonly directions: readonly Direction[]
}

/** The rows of one range on one shard, by what stands behind its prefix. */
interface Stream extends Omit<IntersectedRange, 'shards'> {
  readonly shard: number
  /** Read and not passed, in order, from `next` on. */
  rows: readonly RowPlace[]
  next: number
  /** True when there is nothing behind `rows`. */
  ended: boolean
  /** Rows to ask for next. */
  size: number
  /** How many times the others have stopped it among its `rows`. */
  stops: number
}

/** The common places of one group. */
interface Group {
  /** The streams of each range, one for each of its shards. */
  readonly ranges: readonly (readonly Stream[])[]
  /** Where the rest begins: all before it is decided. */
  from: RowsStart | undefined
  /** A common place that was found and not given yet. */
  head: RowPlace | undefined
  ended: boolean
}

/** Rows of one scan, after the first. */
const MIN_FETCH = 16
const MAX_FETCH = 1000
/** So many rows more are read at once rather than to begin another statement. */
const ROWS_WORTH_A_STATEMENT = 100

/**
 * The places that have a row in every range: a zigzag. The range whose next row comes last says where the others go on, and they
 * seek to it: by the rows in hand, or by a scan that begins there. A scan reads the more rows the more often the others have
 * stopped among those of the last one, and the fewer the more of them were passed for nothing.
 *
 * A place at an inclusive start comes first, whether or not it has rows: what stands at it is told by the entity.
 */
export function intersectRows(
  { groups: all, directions }: IntersectedRanges,
  order: QueryOrder,
  start: RowsStart | undefined,
  maxRows: number,
  fetch: FetchRows,
): RowSource {
  const compare = placeOrder(directions, order)
  const groups = all.map((ranges): Group => ({
    ranges: ranges.map(({ index, range, shards }) =>
      shards.map((shard) => ({ index, range, shard, rows: [], next: 0, ended: false, size: 0, stops: 0 })),
    ),
    from: start && { ...start, inclusive: false },
    head: undefined,
    ended: false,
  }))
  let atStart = start?.inclusive === true ? start : undefined
  let rowsRead = 0
  let stopped: RowsStart | undefined

  /** Brings a stream to its first row from a place on, among those in hand; false when it has to read on for that. */
  function pass(stream: Stream, from: RowsStart | undefined): boolean {
    const { rows, next } = stream
    if (from !== undefined && next < rows.length) {
      const distance = compare(rows[next] as RowPlace, from)
      if (distance < 0 || (distance === 0 && !from.inclusive)) {
        const { at, isThere } = indexOfPlace(rows, from, compare)
        stream.next = isThere && !from.inclusive ? at + 1 : at
        stream.stops++
      }
    }
    return stream.ended || stream.next < rows.length
  }

  async function readOn(stream: Stream, from: RowsStart | undefined, wanted: number): Promise<void> {
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

  /** The first row in hand of a range's streams. */
  function headOf(streams: readonly Stream[]): RowPlace | undefined {
    let head: RowPlace | undefined
    for (const { rows, next } of streams) {
      const row = rows[next]
      if (row !== undefined && (head === undefined || compare(row, head) < 0)) head = row
    }
    return head
  }

  /** Finds the next common place of a group, until there is none or enough was read. */
  async function findNext(group: Group, wanted: number): Promise<void> {
    while (group.head === undefined && !group.ended) {
      const { from } = group
      const short = group.ranges.flat().filter((stream) => !pass(stream, from))
      if (short.length > 0) {
        if (rowsRead >= maxRows) return
        await Promise.all(short.map((stream) => readOn(stream, from, wanted)))
      }
      const heads = group.ranges.map(headOf)
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

  /** Where the places of a group that were not given begin; undefined at its end. */
  function restOf({ head, from, ended }: Group): RowsStart | undefined {
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
          stopped = firstOf(groups.map(restOf))
          return taken
        }
        const first = firstOf(groups.map(restOf))
        const group = groups.find(({ head }) => head !== undefined && compare(head, first as RowsStart) === 0)
        if (group === undefined) return taken
        taken.push(group.head as RowPlace)
        group.head = undefined
      }
      return taken
    },
    mayCome: (place) =>
      groups.some((group) => {
        const rest = restOf(group)
        if (rest === undefined) return false
        const distance = compare(place, rest)
        return distance > 0 || (distance === 0 && rest.inclusive)
      }),
    stoppedAt: () => stopped,
  }
}

/** Rows to ask for: at first as many as are wanted, then by how those of the last scan were used. */
function nextSize({ size, rows, stops }: Stream, wanted: number): number {
  if (size === 0) return Math.max(MIN_FETCH, wanted)
  const isWorthIt = rows.length <= ROWS_WORTH_A_STATEMENT * stops
  return isWorthIt ? Math.min(MAX_FETCH, size * 2) : Math.max(MIN_FETCH, size >> 1)
}
