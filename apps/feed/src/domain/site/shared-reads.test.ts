import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSharedReads, type MayLackData, type SharedReads } from './shared-reads.ts'

interface Found extends MayLackData {
  readonly number: number
}

let outcomes: ((number: number) => Promise<Found>)[]
let keys: string[]
let reads: SharedReads<Found>

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  outcomes = []
  keys = []
  reads = createSharedReads<Found>({
    keepMs: 1_000,
    most: 2,
    read(key) {
      const number = keys.push(key)
      return outcomes.shift()?.(number) ?? Promise.resolve({ number, isPartial: false })
    },
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const numberOf = async (key: string): Promise<number> => (await reads.get(key)).number

test('callers at the same time share a read, and its value is kept for a moment', async () => {
  expect(await Promise.all([numberOf('a'), numberOf('a'), numberOf('b')])).toEqual([1, 1, 2])
  vi.advanceTimersByTime(999)
  expect(await numberOf('a')).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await Promise.all([numberOf('a'), numberOf('a')])).toEqual([3, 3])
})

test('a failed read is not kept, and those who waited for it read by themselves', async () => {
  outcomes.push(() => Promise.reject(new Error('Down.')))
  const [first, second] = await Promise.allSettled([reads.get('a'), reads.get('a')])
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
  expect(await numberOf('a')).toBe(3)
})

test('a partial value is neither shared nor kept', async () => {
  const partial = (number: number): Promise<Found> => Promise.resolve({ number, isPartial: true })
  outcomes.push(partial, partial)
  expect(await Promise.all([reads.get('a'), reads.get('a')])).toEqual([
    { number: 1, isPartial: true },
    { number: 2, isPartial: true },
  ])
  expect(await reads.get('a')).toEqual({ number: 3, isPartial: false })
  expect(await numberOf('a')).toBe(3)
})

test('the value that was read first goes if there are too many', async () => {
  for (const key of ['a', 'b', 'c', 'b', 'a']) await reads.get(key)
  expect(keys).toEqual(['a', 'b', 'c', 'a'])
})
