import { getOrInsert } from '@looseleaf/core/internal'

/**
 * Measures how much slower a shard answers than when idle. Statements are compared only with others of their kind, so that a long page does not
 * count as a slow one.
 */
export interface LatencyGauge {
  /** Records the milliseconds that a statement of this kind took. Returns the milliseconds to pause for it. */
  record(kind: string, milliseconds: number): number
}

/** Size of the median's sample: one slow answer does not count, three of five do. */
const SAMPLES = 5
/** A shard counts as slow from this multiple of its idle latency. */
const SLOW_FACTOR = 2
/** Least idle latency in milliseconds. Differences below it are noise of the machine. */
const MIN_IDLE_MS = 2.5
/** Largest pause as a multiple of the statement's time, so that at least a tenth of the time is work. */
const MAX_PAUSES = 9
const MAX_PAUSE_MS = 1_000
/** Milliseconds in which the known idle latency may at most double, as tables grow and caches go cold. */
const IDLE_DOUBLES_MS = 600_000

interface StatementLatency {
  readonly recent: number[]
  /** Estimated idle latency in milliseconds: the least median, which grows slowly. */
  idle: number
  /** Time of the estimate, by `elapsed`. */
  at: number
}

/** @param elapsed - returns milliseconds of a monotonic clock */
export function createLatencyGauge(elapsed: () => number): LatencyGauge {
  const kinds = new Map<string, StatementLatency>()
  return {
    record(name, milliseconds) {
      const now = elapsed()
      const kind = getOrInsert(kinds, name, () => ({ recent: [], idle: Infinity, at: now }))
      kind.recent.push(milliseconds)
      if (kind.recent.length > SAMPLES) kind.recent.shift()
      if (kind.recent.length < SAMPLES) return 0
      const median = medianOf(kind.recent)
      kind.idle = Math.min(median, kind.idle * 2 ** ((now - kind.at) / IDLE_DOUBLES_MS))
      kind.at = now
      const allowed = SLOW_FACTOR * Math.max(kind.idle, MIN_IDLE_MS)
      const pauses = Math.min(MAX_PAUSES, Math.max(0, median / allowed - 1))
      return Math.min(MAX_PAUSE_MS, median * pauses)
    },
  }
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
