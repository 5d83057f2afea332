import { describe, expect, test } from 'vitest'
import type { HistoryRecord, MemoryRecord } from '../history/records.ts'
import { resourcesOf } from './resources.ts'

const MIB = 1024 * 1024

/** A process with one sample per 5 seconds, each after a collection. */
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

describe('the check of memory', () => {
  test('a heap that rises and falls does not grow', () => {
    const found = resources(process(Array.from({ length: 40 }, (_, i) => 30 + (i % 5) * 10)))
    expect(found.grows).toBe(false)
    expect(found.peakHeap).toBe(70)
  })

  test('a heap that rises and stays high grows, in any process', () => {
    const steady = process(Array.from({ length: 40 }, () => 30))
    const leaking = process(Array.from({ length: 40 }, (_, i) => 30 + i))
    expect(resources(steady, leaking)).toMatchObject({ grows: true, heapGrowth: 37, rssGrowth: 74 })
    expect(resources(steady).grows).toBe(false)
  })

  test('the first seconds do not count, and a short run reports no growth', () => {
    const found = resources(process([10, 60]))
    expect(found).toMatchObject({ grows: false, heapGrowth: undefined })
    expect(resources(process([10, 60, 60, 61])).heapGrowth).toBe(1)
  })
})

test('the sockets that a process had before its store are not counted', () => {
  const found = resources(
    process([30, 30], [{ sockets: 17 }, { sockets: 10, phase: 'idle' }, { sockets: 5, phase: 'after' }]),
  )
  expect(found).toMatchObject({ peakSockets: 13, idleSockets: 6, leftSockets: 1 })
})
