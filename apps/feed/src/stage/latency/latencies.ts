import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { hasFailed } from '@looseleaf/console'
import type { EndedCall } from 'looseleaf'

/** Durations of calls, including failed ones. Quantiles are accurate within 5 %; `maxMs` is exact. */
export interface Latency {
  readonly calls: number
  /** Number of failed calls by error code. Codes that are a normal answer, such as NOT_FOUND, do not count. */
  readonly failures: ReadonlyMap<string, number>
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface LatencyOfSecond extends Latency {
  /** Seconds since 1970. */
  readonly second: number
}

/**
 * Measures the durations of calls per second, for the last 300 seconds. An observer for `DataStore.open`; another observer may
 * call its `callEnded` instead.
 */
export interface Latencies {
  /** Start of the measurement, in seconds since 1970. */
  readonly since: number
  callEnded(call: EndedCall): void
  /** Returns the seconds with calls, the oldest first. */
  seconds(): readonly LatencyOfSecond[]
  /** Sums up the seconds from `from` to before `until`, since 1970; undefined without calls. */
  between(from: number, until: number): Latency | undefined
}

export const LATENCY_SECONDS = 300

/** Longest measured call in microseconds. Longer calls count as this long in quantiles. */
const LONGEST_US = 10_000_000

/** Calls about the store and not about entities, which the console and people make. They are left out. */
const STORE_CALLS = new Set([
  // Scans last as long as their caller takes.
  'scan',
  'scanDamaged',
  'addIndex',
  'hideIndex',
  'restoreIndex',
  'pauseIndex',
  'resumeIndex',
  'dropIndex',
  'setPolicies',
  'trainDictionary',
  'indexes',
  'status',
])

interface Slot {
  second: number
  calls: number
  maxMs: number
  readonly failures: Map<string, number>
  /** Durations in microseconds. */
  readonly durations: RecordableHistogram
}

export function createLatencies(now: () => number = Date.now): Latencies {
  const slots: Slot[] = []

  const kept = (): Slot[] => {
    const oldest = now() / 1000 - LATENCY_SECONDS
    return slots.filter(({ second }) => second > oldest).toSorted((a, b) => a.second - b.second)
  }

  return {
    since: Math.floor(now() / 1000),
    callEnded({ name, durationMs, failure }) {
      if (STORE_CALLS.has(name)) return
      const slot = slotOf(slots, Math.floor(now() / 1000))
      slot.calls++
      if (failure !== undefined && hasFailed({ failure }))
        slot.failures.set(failure, (slot.failures.get(failure) ?? 0) + 1)
      slot.maxMs = Math.max(slot.maxMs, durationMs)
      slot.durations.record(Math.min(LONGEST_US, Math.max(1, Math.round(durationMs * 1000))))
    },
    seconds: () => kept().map((slot) => ({ second: slot.second, ...latencyOf([slot]) })),
    between(from, until) {
      const selected = kept().filter(({ second }) => second >= from && second < until)
      return selected.length === 0 ? undefined : latencyOf(selected)
    },
  }
}

const histogram = (): RecordableHistogram => createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 })

/** Returns the slot of a second, and clears it if it belonged to an earlier second. */
function slotOf(slots: Slot[], second: number): Slot {
  const place = second % LATENCY_SECONDS
  const slot = (slots[place] ??= {
    second,
    calls: 0,
    maxMs: 0,
    failures: new Map(),
    durations: histogram(),
  })
  if (slot.second !== second) {
    Object.assign(slot, { second, calls: 0, maxMs: 0 })
    slot.failures.clear()
    slot.durations.reset()
  }
  return slot
}

function latencyOf(slots: readonly Slot[]): Latency {
  const sum = histogram()
  for (const { durations } of slots) sum.add(durations)
  const calls = slots.reduce((all, slot) => all + slot.calls, 0)
  const maxMs = Math.max(...slots.map((slot) => slot.maxMs))
  const at = (percent: number): number => Math.min(maxMs, sum.percentile(percent) / 1000)
  return { calls, failures: sumOf(slots), p50Ms: at(50), p99Ms: at(99), maxMs }
}

function sumOf(slots: readonly Slot[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>()
  for (const { failures } of slots)
    for (const [code, count] of failures) sum.set(code, (sum.get(code) ?? 0) + count)
  return sum
}
