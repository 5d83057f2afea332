import { bucketsIn } from '@looseleaf/core/internal'
import type { PlannedMove } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { evened, type WeighedShard } from './spread.ts'

const shardOf = (number: number, weights: readonly number[], fixed = 0): WeighedShard => ({
  number,
  weights: new Map(weights.map((weight, i) => [number * 1_000 + i, weight])),
  fixed,
})

const ones = (count: number): readonly number[] => Array.from({ length: count }, () => 1)

/** Returns the shards after the moves. Checks that a bucket moves from its shard, and only once. */
function checkedAfter(
  shards: readonly WeighedShard[],
  moves: readonly PlannedMove[],
): readonly WeighedShard[] {
  const weights = new Map(shards.map((shard) => [shard.number, new Map(shard.weights)]))
  for (const { from, to, buckets } of moves) {
    for (const bucket of bucketsIn(buckets)) {
      const weight = shards.find(({ number }) => number === from)!.weights.get(bucket)
      expect(weight).toBeDefined()
      expect(weights.get(from)!.delete(bucket)).toBe(true)
      weights.get(to)!.set(bucket, weight!)
    }
  }
  return shards.map((shard) => ({ ...shard, weights: weights.get(shard.number)! }))
}

const totalOf = ({ weights, fixed }: WeighedShard): number =>
  [...weights.values()].reduce((a, b) => a + b, fixed)

test('a shard with several heavy buckets keeps the heaviest, and its light ones go to shards without heavy ones', () => {
  const shards = [shardOf(0, [600, 500, ...ones(200)]), shardOf(1, []), shardOf(2, [])]
  expect(evened(shards)).toEqual([
    { from: 0, to: 2, buckets: '2-201' },
    { from: 0, to: 1, buckets: '1' },
  ])
})

test('a shard that takes a heavy bucket gives its light ones to a shard without heavy ones', () => {
  const shards = [shardOf(0, [600, 600]), shardOf(1, ones(100)), shardOf(2, ones(120))]
  const moves = evened(shards)
  expect(checkedAfter(shards, moves).map(totalOf)).toEqual([600, 600, 220])
  expect(moves).toEqual([
    { from: 1, to: 2, buckets: '1000-1099' },
    { from: 0, to: 1, buckets: '1' },
  ])
})

test('a heavy bucket goes to the lightest of the shards without heavy ones, so that few others move', () => {
  const shards = [shardOf(0, [600, 600]), shardOf(1, ones(100)), shardOf(2, [])]
  expect(evened(shards)).toEqual([{ from: 0, to: 2, buckets: '1' }])
})

test('a heavy bucket stays where its move would relieve the shard by half of its weight or less', () => {
  const shards = (fixed: number): readonly WeighedShard[] => [
    shardOf(0, [100, 100]),
    ...[1, 2, 3].map((number) => shardOf(number, [], fixed)),
  ]
  expect(evened(shards(50))).toEqual([])
  expect(evened(shards(49))).toEqual([{ from: 0, to: 1, buckets: '1' }])
})

test('no plan makes the fullest shard fuller, and the same plan again moves nothing', () => {
  for (let round = 1; round <= 200; round++) {
    const random = (n: number, below: number): number => (n * 7_919 * round + n * n * 31 + round * 13) % below
    const shards = [0, 1, 2, 3].map((number) =>
      shardOf(
        number,
        [
          ...Array.from({ length: random(number + 1, 5) }, (_, i) => 300 + random(i + number, 900)),
          ...ones(random(number + 7, 200)),
        ],
        random(number + 3, 3) === 0 ? random(number + 5, 400) : 0,
      ),
    )
    const spread = checkedAfter(shards, evened(shards))
    expect(Math.max(...spread.map(totalOf))).toBeLessThanOrEqual(Math.max(...shards.map(totalOf)))
    expect(evened(spread)).toEqual([])
  }
})
