import type { EndedCall } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { hasFailed } from '../xrays/failed-calls.ts'

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
 * call its `callEnded` instead. Takes some 200 KB, whatever the number of calls.
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

/** Number of buckets per factor of two: each bucket is 9 % wider than the one before. */
const PER_DOUBLING = 8
const LEAST_MS = 0.01
/** Buckets up to 10 seconds. Longer calls are in the last one. */
const BUCKETS = 20 * PER_DOUBLING

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
  readonly buckets: Uint32Array
}

export function createLatencies(now: () => number = platformTime.now): Latencies {
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
      const bucket = Math.floor(Math.log2(Math.max(durationMs, LEAST_MS) / LEAST_MS) * PER_DOUBLING)
      slot.buckets[Math.min(bucket, BUCKETS - 1)]!++
    },
    seconds: () => kept().map((slot) => ({ second: slot.second, ...latencyOf([slot]) })),
    between(from, until) {
      const selected = kept().filter(({ second }) => second >= from && second < until)
      return selected.length === 0 ? undefined : latencyOf(selected)
    },
  }
}

/** Returns the slot of a second, and clears it if it belonged to an earlier second. */
function slotOf(slots: Slot[], second: number): Slot {
  const place = second % LATENCY_SECONDS
  const slot = (slots[place] ??= {
    second,
    calls: 0,
    maxMs: 0,
    failures: new Map(),
    buckets: new Uint32Array(BUCKETS),
  })
  if (slot.second !== second) {
    Object.assign(slot, { second, calls: 0, maxMs: 0 })
    slot.failures.clear()
    slot.buckets.fill(0)
  }
  return slot
}

function latencyOf(slots: readonly Slot[]): Latency {
  const sum = new Uint32Array(BUCKETS)
  for (const { buckets } of slots) buckets.forEach((count, i) => (sum[i]! += count))
  const calls = slots.reduce((all, slot) => all + slot.calls, 0)
  const maxMs = Math.max(...slots.map((slot) => slot.maxMs))
  const at = (share: number): number => Math.min(maxMs, quantile(sum, Math.ceil(calls * share)))
  return { calls, failures: sumOf(slots), p50Ms: at(0.5), p99Ms: at(0.99), maxMs }
}

function sumOf(slots: readonly Slot[]): ReadonlyMap<string, number> {
  const sum = new Map<string, number>()
  for (const { failures } of slots)
    for (const [code, count] of failures) sum.set(code, (sum.get(code) ?? 0) + count)
  return sum
}

/** Returns the middle of the bucket with the call of this rank, from 1. */
function quantile(buckets: Uint32Array, rank: number): number {
  let below = 0
  const bucket = buckets.findIndex((count) => (below += count) >= rank)
  return LEAST_MS * 2 ** ((bucket + 0.5) / PER_DOUBLING)
}
