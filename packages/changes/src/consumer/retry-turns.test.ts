import { expect, it } from 'vitest'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createRetryTurns, type RetryTurns } from './retry-turns.ts'

/** Creates a partition with this many failing changes, all of which are due. */
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

it('partitions take turns with retries, a hundred changes at a time, however many are due in one', () => {
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

it('a partition whose retries had to wait for those of another goes first the next time', () => {
  const partitions = [partitionOf(0, 1), partitionOf(1, 1)]
  const turns = createTurns()
  expect(numbersOf(turns.next(partitions, () => 2))).toEqual([0, 1])
  turns.tried(partitions[0]!)
  turns.passed(partitions)
  expect(numbersOf(turns.next(partitions, () => 1))).toEqual([1])
})

it('new changes of a partition have a turn between two of its retries', () => {
  const [first, second] = [partitionOf(0, 1), partitionOf(1, 1)]
  const turns = createTurns()
  expect(numbersOf(turns.next([first], () => 2))).toEqual([0])
  expect(numbersOf(turns.next([first, second], () => 2))).toEqual([1])
  expect(turns.next([first, second], () => 2).size).toBe(0)
  turns.passed([first])
  expect(numbersOf(turns.next([first, second], () => 2))).toEqual([0])
})

it('no change is retried without a free slot, or while none is due', () => {
  const turns = createTurns()
  const asked: boolean[] = []
  const room = (isAnyDue: boolean): number => (asked.push(isAnyDue), isAnyDue ? 0 : 2)
  expect(turns.next([partitionOf(0, 1)], room).size).toBe(0)
  expect(turns.next([partitionOf(0, 0)], room).size).toBe(0)
  expect(asked).toEqual([true, false])
})

it('a partition without due changes takes no slot and no share from the others', () => {
  const next = createTurns().next([partitionOf(0, 0), partitionOf(1, 100)], () => 1)
  expect([numbersOf(next), next.size]).toEqual([[1], 100])
})
