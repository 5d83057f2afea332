import { formatRanges } from '@looseleaf/core/internal'
import type { PlannedMove } from '@looseleaf/protocol/internal'

/** A shard with the weights of its buckets. */
export interface WeighedShard {
  readonly number: number
  /** Weights of the buckets that may move, by bucket. */
  readonly weights: ReadonlyMap<number, number>
  /** Weight of everything else that the shard has, or will have. */
  readonly fixed: number
}

/** Share of the level by which shards may differ from it before `evened` moves anything. */
export const TOLERANCE = 0.05

/**
 * Gives all buckets of a shard to others, so that these have as equal weights as possible. Returns a move for each shard that gets some.
 */
export function drained(source: WeighedShard, targets: readonly WeighedShard[]): readonly PlannedMove[] {
  const given = [...source.weights.values()].toSorted((a, b) => b - a)
  const weights = targets.map(weightOf).toSorted((a, b) => a - b)
  const level = levelOf(sum([...given, ...weights]), targets.length, (limit) => {
    // A bucket that is too heavy for any shard goes to the lightest one.
    const heavy = given.filter((weight) => weight > limit)
    return weights.map((weight, i) => weight + (heavy[i] ?? 0))
  })
  return movesFrom(source, Infinity, roomsBelow(level, targets))
}

/**
 * Evens the weights of shards with few moves: only shards above the level give light buckets, and only shards below it take some. A shard with several
 * heavy buckets keeps only the heaviest of them. Returns no move if every shard is within five percent of the level then, or keeps more
 * than that for lack of smaller buckets.
 */
export function evened(given: readonly WeighedShard[]): readonly PlannedMove[] {
  const level = levelOf(sum(given.map(weightOf)), given.length, (limit) => [
    ...separated(given, limit).kept.values(),
  ])
  const { moves: heavy } = separated(given, level)
  const shards = given.map((shard) => withHeavy(shard, heavy))
  const excessOf = (shard: WeighedShard): number => weightOf(shard) - Math.max(level, keptBy(shard, level))
  const isEven = shards.every((shard) => Math.abs(excessOf(shard)) <= TOLERANCE * level)
  const rooms = roomsBelow(level, shards)
  const givers = isEven ? [] : shards.filter((shard) => excessOf(shard) > 0)
  return [
    // A shard gives its light buckets away before a heavy one comes.
    ...givers.flatMap((shard) => movesFrom(shard, excessOf(shard), rooms)),
    ...heavy.map(({ from, to, bucket }) => ({ from, to, buckets: `${bucket}` })),
  ]
}

/** The move of a bucket that is heavier than the level. */
interface HeavyMove {
  readonly bucket: number
  readonly weight: number
  readonly from: number
  readonly to: number
}

/**
 * Chooses moves of heavy buckets, all but the heaviest of each shard, to the shards that keep least. A move that improves little is not worth
 * its copies: the target has to keep less than the source did by more than half of the bucket. Also returns the weights that are kept then.
 */
function separated(
  shards: readonly WeighedShard[],
  level: number,
): { readonly moves: readonly HeavyMove[]; readonly kept: ReadonlyMap<number, number> } {
  const kept = new Map(shards.map((shard) => [shard.number, keptBy(shard, level)]))
  // Among shards that keep as much, the lightest one has the fewest buckets to give away.
  const weights = new Map(shards.map((shard) => [shard.number, weightOf(shard)]))
  const movable = shards
    .flatMap(({ number: from, weights: buckets }) =>
      Array.from(buckets, ([bucket, weight]) => ({ bucket, weight, from }))
        .filter(({ weight }) => weight > level)
        .toSorted((a, b) => b.weight - a.weight)
        .slice(1),
    )
    .toSorted((a, b) => b.weight - a.weight)
  const moves: HeavyMove[] = []
  for (const { bucket, weight, from } of movable) {
    const before = kept.get(from) as number
    const [to, least] = [...kept].toSorted(
      ([a, keptByA], [b, keptByB]) => keptByA - keptByB || weights.get(a)! - weights.get(b)!,
    )[0] as [number, number]
    if (before - (least + weight) <= weight / 2) continue
    kept.set(from, before - weight)
    kept.set(to, least + weight)
    moves.push({ bucket, weight, from, to })
  }
  return { moves, kept }
}

/** Returns the shard as it is after the moves. */
function withHeavy(shard: WeighedShard, moves: readonly HeavyMove[]): WeighedShard {
  const weights = new Map(shard.weights)
  for (const { bucket, weight, from, to } of moves) {
    if (from === shard.number) weights.delete(bucket)
    if (to === shard.number) weights.set(bucket, weight)
  }
  return { ...shard, weights }
}

/**
 * Returns the weight that shards should have, given the weights that they keep at least at a level: the mean of the shards that can have it. The
 * others keep more than that, and the shards besides them would not be even at the mean of all: the first would be filled up to it, and nothing
 * would be left for the last.
 */
function levelOf(total: number, count: number, keptAt: (level: number) => readonly number[]): number {
  let level = total / count
  for (;;) {
    const kept = keptAt(level).filter((weight) => weight > level)
    const next = (total - sum(kept)) / (count - kept.length)
    if (!(next < level)) return level
    level = next
  }
}

/** Returns the weight that a shard keeps: what cannot move, and buckets that are too heavy for any other shard. */
function keptBy({ weights, fixed }: WeighedShard, level: number): number {
  return fixed + sum([...weights.values()].filter((weight) => weight > level))
}

/** A target with the weight that it is short of. */
interface Room {
  readonly number: number
  weight: number
}

/** Chooses buckets of up to this weight in all, and their targets. With `Infinity`, every bucket goes. */
function movesFrom(
  { number: from, weights }: WeighedShard,
  excess: number,
  rooms: readonly Room[],
): readonly PlannedMove[] {
  const given = new Map<number, number[]>()
  let rest = excess
  for (const [bucket, weight] of inOrder(weights, Math.min(rest, sum([...weights.values()])))) {
    if (rest < weight) continue
    // Filling one target after the other keeps neighbours together.
    const first = rooms.find((target) => target.weight >= weight)
    const room = first ?? (rest === Infinity ? widest(rooms) : undefined)
    if (room === undefined) continue
    room.weight -= weight
    rest -= weight
    given.set(room.number, [...(given.get(room.number) ?? []), bucket])
  }
  return Array.from(given, ([to, buckets]) => ({
    from,
    to,
    buckets: formatRanges(buckets.map((bucket) => [bucket, bucket])),
  }))
}

/**
 * Puts heavy buckets first, because the others fill up what they leave, and these in the order of their numbers, so that the texts of ranges
 * stay short.
 */
function inOrder(
  weights: ReadonlyMap<number, number>,
  whole: number,
): readonly (readonly [bucket: number, weight: number])[] {
  const all = [...weights].toSorted(([a], [b]) => a - b)
  const isHeavy = ([, weight]: readonly [number, number]): boolean => weight > TOLERANCE * whole
  return [...all.filter(isHeavy).toSorted(([, a], [, b]) => b - a), ...all.filter((each) => !isHeavy(each))]
}

function widest(rooms: readonly Room[]): Room | undefined {
  return rooms.toSorted((a, b) => b.weight - a.weight)[0]
}

function roomsBelow(mean: number, shards: readonly WeighedShard[]): readonly Room[] {
  return shards.map((shard) => ({ number: shard.number, weight: mean - weightOf(shard) }))
}

const weightOf = ({ weights, fixed }: WeighedShard): number => fixed + sum([...weights.values()])

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
