import { platformTime, type EndedCall } from '@looseleaf/core'
import { hasFailed } from '../answers.ts'

/** How long calls took, those that failed too. Quantiles are right within 5 %, `maxMs` is exact. */
export interface Latency {
  readonly calls: number
  /** How many of them failed, by the codes of their errors; those that only answered by one, such as NOT_FOUND, did not. */
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
 * How long the calls of a store took in each of the last `LATENCY_SECONDS`. For the `observer` of `DataStore.open`, alone or called by one
 * that tells others too. Takes some 200 KB, however many calls there are.
 */
export interface Latencies {
  /** The second, since 1970, from which on it was told of calls. */
  readonly since: number
  callEnded(call: EndedCall): void
  /** Those that had calls, the oldest first. */
  seconds(): readonly LatencyOfSecond[]
  /** From one second until before another, since 1970; undefined where no call has ended by then. */
  between(from: number, until: number): Latency | undefined
}

export const LATENCY_SECONDS = 300

/** Buckets grow by 9 %. */
const PER_DOUBLING = 8
const LEAST_MS = 0.01
/** Up to 10 seconds; what takes longer is in the last. */
const BUCKETS = 20 * PER_DOUBLING

/** About a store and not its entities: the console's own, and those of people. */
const OF_THE_STORE = new Set([
  // They last as long as their reader takes.
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
      if (OF_THE_STORE.has(name)) return
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
      const own = kept().filter(({ second }) => second >= from && second < until)
      return own.length === 0 ? undefined : latencyOf(own)
    },
  }
}

/** The slot of a second, which was that of an earlier one before. */
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

/** The middle of the bucket of the call of this rank, from 1. */
function quantile(buckets: Uint32Array, rank: number): number {
  let below = 0
  const bucket = buckets.findIndex((count) => (below += count) >= rank)
  return LEAST_MS * 2 ** ((bucket + 0.5) / PER_DOUBLING)
}
