import type { Failure } from './fetch/failure.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY

/** Bounds of the time between two fetches of a source, in milliseconds. */
export interface IntervalBounds {
  readonly min: number
  readonly max: number
}

/** Bounds that spare other people's servers. */
export const POLITE: IntervalBounds = { min: 5 * MINUTE, max: DAY }
/** Interval of a source whose items have no times. */
export const DEFAULT_INTERVAL_MS: number = HOUR
/** First wait after a server has refused the site without naming one. */
const LIMIT_INTERVAL_MS = HOUR
/** Longest wait that a server may ask for. */
const MAX_WAIT_MS = WEEK
/** Share of a wait that chance adds or takes, so that sources which were added together are not fetched together for ever. */
const JITTER = 0.1
/** Items of a feed are counted over this time. */
const COUNTED_MS = 4 * WEEK

/** Returns the items per week of a feed by the times of its items; undefined if none has a time. */
export function itemsPerWeek(times: readonly (Date | undefined)[], now: Date): number | undefined {
  const known = times.filter((time) => time !== undefined).map((time) => time.getTime())
  if (known.length === 0) return undefined
  const recent = known.filter((time) => time > now.getTime() - COUNTED_MS && time <= now.getTime())
  // A feed that is too short for the whole time has been as busy before its oldest item.
  const oldest = Math.min(...known)
  const span = Math.min(COUNTED_MS, Math.max(now.getTime() - oldest, DAY))
  return Math.round((recent.length / span) * WEEK * 100) / 100
}

/** Returns the interval for a feed with this many items per week: the mean time between two of them, within the bounds. */
export function intervalOf(perWeek: number | undefined, bounds: IntervalBounds = POLITE): number {
  if (perWeek === undefined) return clamp(DEFAULT_INTERVAL_MS, bounds)
  return perWeek === 0 ? bounds.max : clamp(WEEK / perWeek, bounds)
}

/** Returns the interval after a fetch that brought nothing new, a tenth longer. A feed that falls silent is so fetched less and less. */
export function quietInterval(intervalMs: number, bounds: IntervalBounds = POLITE): number {
  return clamp(intervalMs * 1.1, bounds)
}

/** Returns the wait until the next fetch after a good one, in milliseconds: the interval, or longer if the feed or its server asks for it. */
export function waitAfterSuccess(
  intervalMs: number,
  asked: { readonly freshMs: number; readonly ttlMs: number | undefined },
  bounds: IntervalBounds = POLITE,
  random: () => number = Math.random,
): number {
  const longest = Math.max(intervalMs, asked.freshMs, asked.ttlMs ?? 0)
  return jittered(clamp(longest, bounds), random)
}

/**
 * Returns the wait after a failure, in milliseconds: it doubles with each failure in a row, up to the longest interval. A server that refuses visits
 * (403, 429) is left alone for an hour at first. A wait that the server asks for is kept, up to a week. Returns undefined if the feed
 * is gone for good (410), so that it is fetched no more.
 */
export function waitAfterFailure(
  { status, retryAfterMs = 0 }: Failure,
  { intervalMs, failures }: { readonly intervalMs: number; readonly failures: number },
  bounds: IntervalBounds = POLITE,
  random: () => number = Math.random,
): number | undefined {
  if (status === 410) return undefined
  const first = status === 403 || status === 429 ? Math.max(LIMIT_INTERVAL_MS, intervalMs) : intervalMs
  const backOff = Math.min(first * 2 ** Math.min(failures - 1, 20), bounds.max)
  // Chance may not shorten a wait that the server has named.
  return Math.max(jittered(backOff, random), Math.min(retryAfterMs, MAX_WAIT_MS))
}

function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (1 + JITTER * (2 * random() - 1)))
}

function clamp(value: number, { min, max }: IntervalBounds): number {
  return Math.min(Math.max(value, min), max)
}
