import { bucketsIn } from '@looseleaf/core/internal'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { describe, expect, test } from 'vitest'
import { drainedBuckets, evenedBuckets, type SizedShard } from './spread-buckets.ts'

const BUCKETS = 4_096

/** Returns a shard with buckets from `first` on, every `each`-th of them with these bytes. */
function shardOf(number: number, first: number, count: number, each: number, size: number): SizedShard {
  const bytes = new Map<number, number>()
  for (let i = 0; i < count; i++) bytes.set(first + i, i % each === 0 ? size : 0)
  return { number, bytes, fixed: [] }
}

const none = (number: number): SizedShard => ({ number, bytes: new Map(), fixed: [] })

/** Returns bytes and empty buckets of each shard after the moves. Checks that no bucket moves twice. */
function checkedAfter(
  shards: readonly SizedShard[],
  moves: readonly { from: number; to: number; buckets: string }[],
): readonly (readonly [bytes: number, empty: number])[] {
  const held = shards.map(({ bytes }) => new Map(bytes))
  for (const { from, to, buckets } of moves)
    for (const bucket of bucketsIn(buckets)) {
      const size = held[from]!.get(bucket)
      expect(size).toBeDefined()
      held[from]!.delete(bucket)
      held[to]!.set(bucket, size!)
    }
  return held.map((bytes) => {
    const sizes = [...bytes.values()]
    return [sizes.reduce((a, b) => a + b, 0), sizes.filter((size) => size === 0).length]
  })
}

describe('evened buckets', () => {
  test.each([20, 100, 1_000])(
    'an empty shard gets half of the bytes of tenants (each %i-th bucket) and half of the empty buckets',
    (each) => {
      const shards = [shardOf(0, 0, BUCKETS, each, 1_000), none(1)]
      const [first, second] = checkedAfter(shards, evenedBuckets(shards))
      expect(Math.abs(first![0] - second![0])).toBeLessThanOrEqual(1_000)
      expect(Math.abs(first![1] - second![1])).toBeLessThanOrEqual(1)
    },
  )

  test('the empty buckets of a shard go along with its others, in one move', () => {
    const shards = [shardOf(0, 0, BUCKETS, 2, 1_000), none(1)]
    expect(evenedBuckets(shards)).toEqual([{ from: 0, to: 1, buckets: '0-2047' }])
  })

  test('a store without data gives each shard as many buckets', () => {
    const shards = [shardOf(0, 0, BUCKETS, 1, 0), none(1), none(2)]
    const counts = checkedAfter(shards, evenedBuckets(shards)).map(([, empty]) => empty)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })

  test('a plan that has been carried out moves nothing', () => {
    const shards = [shardOf(0, 0, BUCKETS, 20, 1_000), none(1)]
    const moved = new Set(evenedBuckets(shards).flatMap(({ buckets }) => bucketsIn(buckets)))
    const of = (isMoved: boolean): ReadonlyMap<number, number> =>
      new Map([...shards[0]!.bytes].filter(([bucket]) => moved.has(bucket) === isMoved))
    expect(
      evenedBuckets([
        { ...shards[0]!, bytes: of(false) },
        { ...shards[1]!, bytes: of(true) },
      ]),
    ).toEqual([])
  })

  test('some empty buckets more or less than others are worth no move', () => {
    const withEmpty = (number: number, empty: number): SizedShard => {
      const sizes = Array.from({ length: 2_048 }, (_, i) => (i < empty ? 0 : 1_000))
      const scale = 2_048 / (2_048 - empty)
      return {
        number,
        bytes: new Map(sizes.map((size, i) => [number * 2_048 + i, size * scale])),
        fixed: [],
      }
    }
    expect(evenedBuckets([withEmpty(0, 100), withEmpty(1, 300)])).toEqual([])
    expect(evenedBuckets([withEmpty(0, 100), withEmpty(1, 310)])).toEqual([
      { from: 1, to: 0, buckets: '2048-2152' },
    ])
  })

  test('empty buckets that are in a move count at its target', () => {
    const shards = [shardOf(0, 0, 2_048, 1, 0), { ...none(1), fixed: Array<number>(2_048).fill(0) }]
    expect(evenedBuckets(shards)).toEqual([])
  })
})

test('a drained shard gives the others the same bytes and as many empty buckets', () => {
  const shards = [shardOf(0, 0, BUCKETS, 20, 1_000), none(1), none(2)]
  const [source, first, second] = checkedAfter(shards, drainedBuckets(shards[0]!, shards.slice(1)))
  expect(source).toEqual([0, 0])
  expect(Math.abs(first![0] - second![0])).toBeLessThanOrEqual(1_000)
  expect(Math.abs(first![1] - second![1])).toBeLessThanOrEqual(1)
})

test('for random stores, no plan makes the fullest shard fuller or the one with most empty buckets larger, and the same plan again moves nothing', () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = createRandom(seed)
    const [shards, buckets, emptyShare, skew] = [2 + random.below(5), 256, random.next(), random.next() * 6]
    const sizes = Array.from({ length: buckets }, () =>
      random.chance(emptyShare) ? 0 : Math.ceil(1_000 * Math.exp(skew * random.next())),
    )
    const owners = sizes.map(() => random.below(shards))
    const stateOf = (): readonly SizedShard[] =>
      Array.from({ length: shards }, (_, number) => ({
        number,
        bytes: new Map([...sizes.entries()].filter(([bucket]) => owners[bucket] === number)),
        fixed: [],
      }))
    const most = (state: readonly (readonly [number, number])[], i: 0 | 1): number =>
      Math.max(...state.map((each) => each[i]))
    const before = stateOf()
    const moves = evenedBuckets(before)
    const after = checkedAfter(before, moves)
    expect(most(after, 0)).toBeLessThanOrEqual(most(checkedAfter(before, []), 0))
    expect(most(after, 1)).toBeLessThanOrEqual(most(checkedAfter(before, []), 1))
    for (const { to, buckets: text } of moves) for (const bucket of bucketsIn(text)) owners[bucket] = to
    expect(evenedBuckets(stateOf())).toEqual([])
  }
})
