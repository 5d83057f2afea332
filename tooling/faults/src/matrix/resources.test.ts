import { describe, expect, test } from 'vitest'
import type { HistoryRecord, MemoryRecord } from '../history/records.ts'
import { resourcesOf } from './resources.ts'

const MIB = 1024 * 1024

/** A sample per 5 seconds, each after a collection. */
function process(heaps: readonly number[], more: readonly Partial<MemoryRecord>[] = []): HistoryRecord[] {
  const sample = (changes: Partial<MemoryRecord>): MemoryRecord => ({
    kind: 'memory',
    at: 0,
    heap: 0,
    rss: 0,
    sockets: 4,
    ...changes,
  })
  return [
    sample({ phase: 'before' }),
    ...heaps.map((heap, i) =>
      sample({ at: (i + 1) * 5_000_000, heap: heap * MIB, rss: heap * 2 * MIB, collected: true }),
    ),
    ...more.map((changes) => sample({ at: 1e9, ...changes })),
  ]
}

const resources = (...processes: HistoryRecord[][]): ReturnType<typeof resourcesOf> =>
  resourcesOf(processes.map((records) => ({ records, goneAt: 2e9 })))

describe('memory', () => {
  test('that goes up and down does not grow', () => {
    const found = resources(process(Array.from({ length: 40 }, (_, i) => 30 + (i % 5) * 10)))
    expect(found.grows).toBe(false)
    expect(found.peakHeap).toBe(70)
  })

  test('that goes up and stays up grows, in whichever process', () => {
    const steady = process(Array.from({ length: 40 }, () => 30))
    const leaking = process(Array.from({ length: 40 }, (_, i) => 30 + i))
    expect(resources(steady, leaking)).toMatchObject({ grows: true, heapGrowth: 37, rssGrowth: 74 })
    expect(resources(steady).grows).toBe(false)
  })

  test('of the first seconds is not held against it, and a short run tells nothing', () => {
    const found = resources(process([10, 60]))
    expect(found).toMatchObject({ grows: false, heapGrowth: undefined })
    expect(resources(process([10, 60, 60, 61])).heapGrowth).toBe(1)
  })
})

test('sockets are counted without those that a process had before its store', () => {
  const found = resources(
    process([30, 30], [{ sockets: 17 }, { sockets: 10, phase: 'idle' }, { sockets: 5, phase: 'after' }]),
  )
  expect(found).toMatchObject({ peakSockets: 13, idleSockets: 6, leftSockets: 1 })
})
