import { unset } from 'looseleaf'
import { titledAs } from '../domain/search/found-by.ts'
import type { ParsedFeed } from '../feeds/parse/parsed-feed.ts'
import type { Source } from '../kinds/source.ts'
import type { SourceChange } from './due.ts'
import type { Failure } from './fetch/failure.ts'
import {
  DEFAULT_INTERVAL_MS,
  intervalOf,
  itemsPerWeek,
  quietInterval,
  waitAfterFailure,
  waitAfterSuccess,
  type IntervalBounds,
} from './schedule.ts'

/** The parts of an answer that a source keeps. */
export interface GoodAnswer {
  readonly etag: string | undefined
  readonly lastModified: string | undefined
  readonly freshMs: number
  /** Digest of the body; undefined for an answer without one. */
  readonly bodyHash?: string
}

/** Changes of a source after a fetch that found nothing new. */
export function unchangedFeed(
  source: Source,
  answer: GoodAnswer,
  now: Date,
  bounds: IntervalBounds,
): SourceChange {
  const interval = quietInterval(source.interval_ms ?? DEFAULT_INTERVAL_MS, bounds)
  return succeeded(interval, answer, undefined, now, bounds)
}

/** Changes of a source after a fetch that brought a feed with another text. */
export function changedFeed(
  { about, link }: Source,
  feed: ParsedFeed,
  answer: GoodAnswer,
  now: Date,
  bounds: IntervalBounds,
): SourceChange {
  const perWeek = itemsPerWeek(
    feed.items.map(({ published }) => published),
    now,
  )
  return {
    ...succeeded(intervalOf(perWeek, bounds), answer, feed.ttlMs, now, bounds),
    ...titledAs(feed.title),
    about: feed.about || about,
    link: feed.link ?? link ?? unset,
    per_week: perWeek ?? unset,
  }
}

function succeeded(
  interval: number,
  { etag, lastModified, freshMs, bodyHash }: GoodAnswer,
  ttlMs: number | undefined,
  now: Date,
  bounds: IntervalBounds,
): SourceChange {
  return {
    checked: now,
    fetched: now,
    interval_ms: interval,
    next_check: after(now, waitAfterSuccess(interval, { freshMs, ttlMs }, bounds)),
    failures: 0,
    problem: unset,
    wait_until: unset,
    // A 304 may leave out the headers that it confirms.
    ...(etag !== undefined && { etag }),
    ...(lastModified !== undefined && { last_modified: lastModified }),
    // The headers of another body would make the server say that nothing is new.
    ...(bodyHash !== undefined && {
      body_hash: bodyHash,
      etag: etag ?? unset,
      last_modified: lastModified ?? unset,
    }),
  }
}

/** Changes of a source after a failed fetch. A source that is fetched no more keeps the reason as its problem. */
export function failedFetch(
  source: Source,
  failure: Failure,
  now: Date,
  bounds: IntervalBounds,
): SourceChange {
  const failures = (source.failures ?? 0) + 1
  const intervalMs = source.interval_ms ?? DEFAULT_INTERVAL_MS
  const wait = waitAfterFailure(failure, { intervalMs, failures }, bounds)
  const { reason, status, retryAfterMs } = failure
  const since = source.problem?.since ?? now
  return {
    checked: now,
    failures,
    problem: { text: reason, since, ...(status !== undefined && { status }) },
    next_check: wait === undefined ? unset : after(now, wait),
    wait_until:
      retryAfterMs === undefined || wait === undefined ? unset : after(now, Math.min(retryAfterMs, wait)),
  }
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms)
}
