import { parseObject } from '@looseleaf/core/internal'

/** The size of a shard at some time. */
export interface NotedSize {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly bytes: number
}

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const KEPT_MS = 2 * DAY_MS

/** Parses noted sizes. Returns an empty list for a text that cannot be read. */
export function sizesFromText(text: string): readonly NotedSize[] {
  const sizes: unknown = parseObject(text)
  if (!Array.isArray(sizes)) return []
  return sizes.flatMap((size: unknown) => {
    const [at, bytes] = Array.isArray(size) ? (size as unknown[]) : []
    return typeof at === 'number' && typeof bytes === 'number' ? [{ at, bytes }] : []
  })
}

/** Adds a size if the last one is at least an hour old. Drops sizes older than two days, and sizes noted by a clock that was ahead. */
export function sizesToText(sizes: readonly NotedSize[], next: NotedSize | undefined): string {
  const kept = next === undefined ? sizes : sizes.filter(({ at }) => at <= next.at && next.at - at < KEPT_MS)
  const last = kept.at(-1)
  const isDue = next !== undefined && (last === undefined || next.at - last.at >= HOUR_MS)
  return JSON.stringify([...kept, ...(isDue ? [next] : [])].map(({ at, bytes }) => [at, bytes]))
}

/** Returns the growth in bytes per day from the oldest size to this one; undefined if they are less than an hour apart. */
export function growthOf(sizes: readonly NotedSize[], now: NotedSize): number | undefined {
  const first = sizes.find(({ at }) => now.at - at < KEPT_MS)
  if (first === undefined || now.at - first.at < HOUR_MS) return undefined
  return ((now.bytes - first.bytes) * DAY_MS) / (now.at - first.at)
}
