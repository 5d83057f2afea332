import type { Inlined } from '@looseleaf/core/internal'
/** Milliseconds for which writes of sealed buckets had to wait: from the request of the seal until the new shard serves them. */
export type SealTimes = Inlined<{
  /** Number of groups that were sealed and handed over. */
  readonly groups: number
  /** Median, 99th percentile and greatest; undefined before the first group. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  readonly worst: number | undefined
}>

export function sealTimesOf(milliseconds: readonly number[]): SealTimes {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  const at = (share: number): number | undefined => sorted[Math.ceil(sorted.length * share) - 1]
  return { groups: sorted.length, p50: at(0.5), p99: at(0.99), worst: sorted.at(-1) }
}
