import { expect, test } from 'vitest'
import { drained, evened, type WeighedShard } from './spread.ts'

function shardOf(
  number: number,
  weights: readonly (readonly [bucket: number, weight: number])[],
  fixed = 0,
): WeighedShard {
  return { number, weights: new Map(weights), fixed }
}

const tens = (...buckets: readonly number[]): (readonly [number, number])[] =>
  buckets.map((bucket) => [bucket, 10])

test('buckets go until giver and taker are at the mean, also if the last one fits exactly', () => {
  expect(evened([shardOf(0, tens(0, 1, 2, 3, 4, 5, 6, 7)), shardOf(1, [])])).toEqual([
    { from: 0, to: 1, buckets: '0-3' },
  ])
})

test('shards that differ from the mean by five percent keep their buckets, and by more do not', () => {
  const singles = (count: number, first: number): (readonly [number, number])[] =>
    Array.from({ length: count }, (_, i) => [first + i, 1])
  expect(evened([shardOf(0, singles(105, 0)), shardOf(1, singles(95, 1_000))])).toEqual([])
  expect(evened([shardOf(0, singles(106, 0)), shardOf(1, singles(94, 1_000))])).toEqual([
    { from: 0, to: 1, buckets: '0-5' },
  ])
})

test('buckets of one weight go in the order of their numbers, whatever their order was', () => {
  expect(evened([shardOf(0, tens(9, 3, 7, 1)), shardOf(1, [])])).toEqual([{ from: 0, to: 1, buckets: '1,3' }])
})

test('the heaviest buckets go first, and light ones fill up what they leave', () => {
  const light: (readonly [number, number])[] = Array.from({ length: 20 }, (_, i) => [i, 1])
  const shards = [shardOf(0, [...light, [20, 30], [21, 50], [22, 40]]), shardOf(1, [])]
  // The bucket of 50 goes first, and 20 light ones fill the rest of the 70.
  expect(evened(shards)).toEqual([{ from: 0, to: 1, buckets: '0-19,21' }])
})

test('one taker is filled before the next, so that neighbours stay together', () => {
  const shards = [shardOf(0, tens(0, 1, 2, 3, 4, 5)), shardOf(1, []), shardOf(2, [])]
  expect(evened(shards)).toEqual([
    { from: 0, to: 1, buckets: '0-1' },
    { from: 0, to: 2, buckets: '2-3' },
  ])
})

test('two givers fill the room of one taker together', () => {
  const shards = [shardOf(0, tens(0, 1, 2)), shardOf(1, []), shardOf(2, tens(20, 21, 22))]
  expect(evened(shards)).toEqual([
    { from: 0, to: 1, buckets: '0' },
    { from: 2, to: 1, buckets: '20' },
  ])
})

test('every bucket of a drained shard goes, those that fit nowhere to the shard with the most room', () => {
  const source = shardOf(0, [
    [0, 100],
    [1, 100],
    [2, 100],
  ])
  expect(drained(source, [shardOf(1, [], 30), shardOf(2, [], 10)])).toEqual([
    { from: 0, to: 1, buckets: '0' },
    { from: 0, to: 2, buckets: '1-2' },
  ])
})

test('a drained shard fills the others up to their mean, without what it has besides its buckets', () => {
  const source = shardOf(0, tens(0, 1, 2, 3), 500)
  // The last bucket fits nowhere, and both have the same room.
  expect(drained(source, [shardOf(1, [], 20), shardOf(2, tens(9))])).toEqual([
    { from: 0, to: 1, buckets: '0,3' },
    { from: 0, to: 2, buckets: '1-2' },
  ])
})
