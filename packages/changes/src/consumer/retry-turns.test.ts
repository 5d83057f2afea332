import { expect, it } from 'vitest'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createRetryTurns, type RetryTurns } from './retry-turns.ts'

/** With so many failing changes, all of which are due. */
const partitionOf = (number: number, count: number): HeldPartition => ({
  number,
  place: { updated: 0, addedId: 0 },
  since: 0,
  failing: new Map(
    Array.from({ length: count }, (_, n): [string, Failing] => {
      const id = `${number}/${n}`
      return [id, { id, version: 1, attempts: 1, error: '', failedAt: 0 }]
    }),
  ),
  isHeld: true,
})

const createTurns = (): RetryTurns => createRetryTurns(({ failing }) => [...failing.values()])
const numbersOf = (next: ReadonlyMap<string, HeldPartition>): number[] => [
  ...new Set([...next.values()].map(({ number }) => number)),
]

it('retries are of all partitions in turn, a hundred at once, however many are due in one', () => {
  const partitions = Array.from({ length: 8 }, (_, number) => partitionOf(number, 100))
  const turns = createTurns()
  const seen: number[][] = []
  for (let round = 0; round < 4; round++) {
    const next = turns.next(partitions, () => 3)
    expect(next.size).toBe(102)
    seen.push(numbersOf(next))
    turns.passed(partitions)
  }
  expect(seen).toEqual([
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 0],
    [1, 2, 3],
  ])
})

it('a partition whose retries had to wait for those of another one comes before it', () => {
  const partitions = [partitionOf(0, 1), partitionOf(1, 1)]
  const turns = createTurns()
  expect(numbersOf(turns.next(partitions, () => 2))).toEqual([0, 1])
  turns.tried(partitions[0]!)
  turns.passed(partitions)
  expect(numbersOf(turns.next(partitions, () => 1))).toEqual([1])
})

it('between two retries of a partition new changes of it have their turn', () => {
  const [one, two] = [partitionOf(0, 1), partitionOf(1, 1)]
  const turns = createTurns()
  expect(numbersOf(turns.next([one], () => 2))).toEqual([0])
  expect(numbersOf(turns.next([one, two], () => 2))).toEqual([1])
  expect(turns.next([one, two], () => 2).size).toBe(0)
  turns.passed([one])
  expect(numbersOf(turns.next([one, two], () => 2))).toEqual([0])
})

it('without room, and where nothing is due, nothing is tried again', () => {
  const turns = createTurns()
  const asked: boolean[] = []
  const none = (isAnyDue: boolean): number => (asked.push(isAnyDue), isAnyDue ? 0 : 2)
  expect(turns.next([partitionOf(0, 1)], none).size).toBe(0)
  expect(turns.next([partitionOf(0, 0)], none).size).toBe(0)
  expect(asked).toEqual([true, false])
})

it('a partition of which nothing is due takes no room, and no share, from the others', () => {
  const next = createTurns().next([partitionOf(0, 0), partitionOf(1, 100)], () => 1)
  expect([numbersOf(next), next.size]).toEqual([[1], 100])
})
