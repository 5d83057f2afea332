import { bucketsIn, formatRanges } from '@looseleaf/core/internal'
import type { PlannedMove } from '@looseleaf/protocol/internal'
import { drained, evened, TOLERANCE, type WeighedShard } from './spread.ts'

/** A shard with the bytes of its buckets. */
export interface SizedShard {
  readonly number: number
  /** Bytes of the buckets that may move, by bucket; 0 for an empty one. */
  readonly bytes: ReadonlyMap<number, number>
  /** Sizes of the buckets that cannot move, and are or will be on the shard. */
  readonly fixed: readonly number[]
}

/**
 * Gives all buckets of a shard to others: those with data so that the others have about the same bytes, and empty ones so that they have about as many.
 * Later entities go to empty buckets too. If these filled up the bytes that a shard is short of, one shard would get nearly all of them, and with them
 * the growth of the store.
 */
export function drainedBuckets(source: SizedShard, targets: readonly SizedShard[]): readonly PlannedMove[] {
  return together(
    drained(byBytes(source), targets.map(byBytes)),
    drained(byNumber(source), targets.map(byNumber)),
  )
}

/**
 * Evens the bytes of shards, and the numbers of their empty buckets, as `drainedBuckets` does. Empty buckets stay if each shard is short of few for
 * its share of all buckets, because each move makes queries wait for the shards to agree.
 */
export function evenedBuckets(shards: readonly SizedShard[]): readonly PlannedMove[] {
  const counts = shards.map(byNumber)
  const mean = counts.reduce((all, { weights, fixed }) => all + weights.size + fixed, 0) / shards.length
  const buckets = shards.reduce((all, { bytes, fixed }) => all + bytes.size + fixed.length, 0)
  const few = (TOLERANCE * buckets) / shards.length
  const areEven = counts.every(({ weights, fixed }) => Math.abs(weights.size + fixed - mean) <= few)
  return together(evened(shards.map(byBytes)), areEven ? [] : evened(counts))
}

function byBytes({ number, bytes, fixed }: SizedShard): WeighedShard {
  return {
    number,
    weights: new Map([...bytes].filter(([, size]) => size > 0)),
    fixed: fixed.reduce((sum, size) => sum + size, 0),
  }
}

function byNumber({ number, bytes, fixed }: SizedShard): WeighedShard {
  const empty = [...bytes].filter(([, size]) => size === 0)
  return {
    number,
    weights: new Map(empty.map(([bucket]) => [bucket, 1])),
    fixed: fixed.filter((size) => size === 0).length,
  }
}

/** Lets empty buckets go along with a move that has their source and target. */
function together(moves: readonly PlannedMove[], ofEmpty: readonly PlannedMove[]): readonly PlannedMove[] {
  const all = [...moves]
  for (const move of ofEmpty) {
    const i = all.findIndex(({ from, to }) => from === move.from && to === move.to)
    if (i === -1) all.push(move)
    else all[i] = { ...move, buckets: joined(all[i]!.buckets, move.buckets) }
  }
  return all
}

function joined(...texts: readonly string[]): string {
  const buckets = texts.flatMap(bucketsIn).toSorted((a, b) => a - b)
  return formatRanges(buckets.map((bucket) => [bucket, bucket]))
}
