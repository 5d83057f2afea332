import type { IndexRow } from '@looseleaf/core'
import { compareKeys } from './compare-keys.ts'
import type { RowPlace } from './cursor.ts'
import type { QueryOrder } from './query-types.ts'

/** Index rows of several shards as one sequence in the query's order. */
export interface MergedRows {
  /** The next rows, at most so many; none when the shards have no more. */
  take(count: number): Promise<readonly IndexRow[]>
  /** Whether a row that is not among those taken may still come: it is in hand, or its place was not fetched yet. */
  mayCome(shard: number, place: RowPlace): boolean
}

interface Stream {
  readonly shard: number
  /** Fetched and not taken, in order, from `next` on. */
  rows: readonly IndexRow[]
  next: number
  /** The last row that was fetched. */
  reached: RowPlace | undefined
  /** True when there is nothing behind `reached`. */
  ended: boolean
}

/** The order of two rows of one index. Negative when `a` comes first. */
export function comparePlaces(a: RowPlace, b: RowPlace, order: QueryOrder): number {
  const ascending = compareKeys(a.key, b.key) || Buffer.compare(a.entityId, b.entityId)
  return order === 'asc' ? ascending : -ascending
}

export function mergeRows(
  shards: readonly number[],
  order: QueryOrder,
  start: RowPlace | undefined,
  fetch: (shard: number, after: RowPlace | undefined, size: number) => Promise<readonly IndexRow[]>,
): MergedRows {
  const streams = shards.map((shard): Stream => ({ shard, rows: [], next: 0, reached: start, ended: false }))

  async function refill(stream: Stream, size: number): Promise<void> {
    const rows = await fetch(stream.shard, stream.reached, size)
    stream.rows = rows
    stream.next = 0
    stream.reached = rows.at(-1) ?? stream.reached
    stream.ended = rows.length < size
  }

  /** The stream whose next row comes first. Every stream has rows in hand or has ended. */
  function first(): Stream | undefined {
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
      const taken: IndexRow[] = []
      while (taken.length < count) {
        const empty = streams.filter((stream) => !stream.ended && stream.next >= stream.rows.length)
        if (empty.length > 0) await Promise.all(empty.map((stream) => refill(stream, count)))
        const stream = first()
        if (stream === undefined) break
        taken.push(stream.rows[stream.next] as IndexRow)
        stream.next++
      }
      return taken
    },
    mayCome(shard, place) {
      const stream = streams.find((candidate) => candidate.shard === shard)
      if (stream === undefined) return false
      const { reached, ended, rows, next } = stream
      if (!ended && (reached === undefined || comparePlaces(reached, place, order) < 0)) return true
      return rows.slice(next).some((row) => comparePlaces(row, place, order) === 0)
    },
  }
}
