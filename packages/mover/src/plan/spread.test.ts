import { bucketsIn } from '@looseleaf/core/internal'
import type { PlannedMove } from '@looseleaf/protocol/internal'
import { describe, expect, test } from 'vitest'
import { drained, evened, type WeighedShard } from './spread.ts'

const shardOf = (number: number, weights: readonly number[], first = number * 1_000): WeighedShard => ({
  number,
  weights: new Map(weights.map((weight, i) => [first + i, weight])),
  fixed: 0,
})

const many = (count: number, weight: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => weight + (i % 7))

/** Returns the weight of each shard after the moves. Checks that each bucket moves from its shard, and once at most. */
function after(shards: readonly WeighedShard[], moves: readonly PlannedMove[]): readonly number[] {
  const sum = ({ weights, fixed }: WeighedShard): number =>
    [...weights.values()].reduce((a, b) => a + b, fixed)
  const totals = new Map(shards.map((shard) => [shard.number, sum(shard)]))
  const moved = new Set<number>()
  for (const { from, to, buckets } of moves) {
    const { weights } = shards.find(({ number }) => number === from)!
    for (const bucket of bucketsIn(buckets)) {
      expect(moved.has(bucket)).toBe(false)
      moved.add(bucket)
      const weight = weights.get(bucket)!
      totals.set(from, totals.get(from)! - weight)
      totals.set(to, totals.get(to)! + weight)
    }
  }
  return shards.map(({ number }) => totals.get(number)!)
}

const spreadOf = (totals: readonly number[]): number => Math.max(...totals) / Math.min(...totals)

describe('evened', () => {
  test('an empty shard gets its share, in one range from each of the others', () => {
    const shards = [shardOf(0, many(200, 100)), shardOf(1, many(200, 100)), shardOf(2, [])]
    const moves = evened(shards)
    expect(moves.map(({ from, to }) => [from, to])).toEqual([
      [0, 2],
      [1, 2],
    ])
    expect(moves.every(({ buckets }) => !buckets.includes(','))).toBe(true)
    expect(spreadOf(after(shards, moves))).toBeLessThan(1.03)
  })

  test('each shard gives or takes, and none does both', () => {
    for (let round = 1; round <= 50; round++) {
      const shards = [0, 1, 2, 3, 4].map((number) =>
        shardOf(
          number,
          Array.from(
            { length: 40 + ((round * 37 * (number + 1)) % 90) },
            (_, i) => 1 + ((i * 7919 * round) % 100),
          ),
        ),
      )
      const moves = evened(shards)
      const givers = new Set(moves.map(({ from }) => from))
      expect(moves.some(({ to }) => givers.has(to))).toBe(false)
      expect(spreadOf(after(shards, moves))).toBeLessThan(1.12)
    }
  })

  test('shards within five percent of the mean keep their buckets', () => {
    expect(evened([shardOf(0, many(104, 100)), shardOf(1, many(98, 100))])).toEqual([])
    expect(evened([shardOf(0, many(104, 100)), shardOf(1, many(80, 100))])).toHaveLength(1)
    const ones = (count: number): readonly number[] => Array.from({ length: count }, () => 1)
    expect(evened([shardOf(0, ones(105)), shardOf(1, ones(95))])).toEqual([])
    expect(evened([shardOf(0, ones(106)), shardOf(1, ones(94))])).toHaveLength(1)
  })

  test('a bucket with most of the data stays, and the others make room for it', () => {
    const shards = [shardOf(0, [1_000, ...many(50, 10)]), shardOf(1, [])]
    expect(evened(shards)).toEqual([{ from: 0, to: 1, buckets: '1-50' }])
    expect(evened([shardOf(0, [1_000]), shardOf(1, [])])).toEqual([])
  })

  test('the shards without a bucket that is heavier than the mean share the others evenly', () => {
    const shards = [shardOf(0, [6_000, ...many(400, 10)]), shardOf(1, []), shardOf(2, [])]
    const [heavy, ...others] = after(shards, evened(shards))
    expect(heavy).toBeLessThan(6_030)
    expect(spreadOf(others)).toBeLessThan(1.03)
    const uneven = [shardOf(0, [6_000]), shardOf(1, many(300, 10)), shardOf(2, many(100, 10))]
    expect(spreadOf(after(uneven, evened(uneven)).slice(1))).toBeLessThan(1.03)
    expect(evened([shardOf(0, [6_000]), shardOf(1, many(200, 10)), shardOf(2, many(200, 10))])).toEqual([])
  })

  test('heavy buckets go first', () => {
    const shards = [shardOf(0, [...many(20, 10), 100, 90]), shardOf(1, [])]
    const [move] = evened(shards)
    expect(bucketsIn(move!.buckets)).toContain(20)
    expect(spreadOf(after(shards, [move!]))).toBeLessThan(1.15)
  })

  test('weight that cannot move counts', () => {
    const shards = [
      { ...shardOf(0, many(100, 10)), fixed: 0 },
      { ...shardOf(1, []), fixed: 1_300 },
    ]
    expect(evened(shards)).toEqual([])
  })

  test('a bucket that no shard has room for stays', () => {
    const shards = [
      shardOf(0, [90, 55, 55]),
      { ...shardOf(1, []), fixed: 50 },
      { ...shardOf(2, []), fixed: 50 },
    ]
    expect(evened(shards)).toEqual([])
  })

  test('one shard alone keeps its buckets', () => {
    expect(evened([shardOf(0, many(10, 10))])).toEqual([])
  })
})

describe('drained', () => {
  test('every bucket goes, and the others are even then', () => {
    const [source, ...others] = [
      shardOf(0, many(300, 50)),
      shardOf(1, many(100, 50)),
      shardOf(2, many(250, 50)),
    ] as const
    const moves = drained(source, others)
    const totals = after([source, ...others], moves)
    expect(totals[0]).toBe(0)
    expect(spreadOf(totals.slice(1))).toBeLessThan(1.01)
  })

  test('the shards besides one that is heavier than the mean share the buckets of a drained shard evenly', () => {
    const all = [shardOf(0, many(400, 10)), shardOf(1, [6_000]), shardOf(2, []), shardOf(3, [])] as const
    const [source, ...others] = all
    const [rest, heavy, ...light] = after(all, drained(source, others))
    expect([rest, heavy]).toEqual([0, 6_000])
    expect(spreadOf(light)).toBeLessThan(1.03)
  })

  test('a heavy bucket of a drained shard goes to one shard, and the others share the rest evenly', () => {
    const heavy = [7_000, 5_000]
    const all = [0, 1, 2, 3, 4].map((number) =>
      shardOf(number, number === 0 ? [...heavy, ...many(400, 10)] : []),
    )
    all[2] = shardOf(2, many(20, 10))
    const [source, ...others] = all as [WeighedShard, ...WeighedShard[]]
    const totals = after(all, drained(source, others))
    expect(totals[0]).toBe(0)
    const [first, second, ...light] = totals.slice(1).toSorted((a, b) => b - a)
    expect([first! - 7_000, second! - 5_000].every((more) => more < 30)).toBe(true)
    expect(spreadOf(light)).toBeLessThan(1.03)
  })

  test('a bucket that any shard has room for leaves the level as it is, so that neighbours stay together', () => {
    const small = Array.from({ length: 60 }, () => 1)
    const source = shardOf(0, [30, 30, 30, ...small])
    // The level of the shards beside the last one is 75.
    expect(drained(source, [shardOf(1, []), shardOf(2, []), shardOf(3, [90])])).toEqual([
      { from: 0, to: 1, buckets: '0-1,3-17' },
      { from: 0, to: 2, buckets: '2,18-62' },
    ])
  })

  test('neighbours stay together, whatever the order of the weights is', () => {
    const source = shardOf(
      0,
      Array.from({ length: 300 }, () => 50),
    )
    const reversed = { ...source, weights: new Map([...source.weights].toReversed()) }
    expect(drained(reversed, [shardOf(1, []), shardOf(2, [])])).toEqual([
      { from: 0, to: 1, buckets: '0-149' },
      { from: 0, to: 2, buckets: '150-299' },
    ])
  })

  test('heavy buckets of a drained shard go first', () => {
    const all = [shardOf(0, [...many(10, 10), 100, 100]), shardOf(1, []), shardOf(2, [])] as const
    const [source, ...others] = all
    expect(spreadOf(after(all, drained(source, others)).slice(1))).toBeLessThan(1.15)
  })

  test('a bucket that is larger than any room goes to the shard with the most room', () => {
    const moves = drained(shardOf(0, [1_000]), [shardOf(1, [10]), shardOf(2, [5])])
    expect(moves).toEqual([{ from: 0, to: 2, buckets: '0' }])
  })

  test('weight that the source has besides its buckets does not count', () => {
    const source = { ...shardOf(0, many(100, 10)), fixed: 1_000_000 }
    const others = [shardOf(1, []), shardOf(2, [])]
    expect(spreadOf(after([source, ...others], drained(source, others)).slice(1))).toBeLessThan(1.05)
  })

  test('a shard without buckets needs no move', () => {
    expect(drained(shardOf(0, []), [shardOf(1, [1])])).toEqual([])
  })
})
