import { isLooseleafError, type ErrorCode, type Fate } from '@looseleaf/core'
import { type Inlined, shorten } from '@looseleaf/core/internal'

/** Calls that have failed with one code on one shard. */
export type CallFailures = Inlined<{
  readonly code: ErrorCode
  /** Undefined if the error names no shard. */
  readonly shard: string | undefined
  readonly count: number
  /** Milliseconds since 1970, by the clock of the process. */
  readonly lastAt: number
  /** Message of the last error, shortened to 300 characters. Contains no values. */
  readonly message: string
}>

/** Counts the calls of a store, and those that have failed because of a shard. */
export interface CallTally {
  /** Calls that have ended since the store was opened. */
  readonly calls: number
  ended(): void
  /** Counts the error of a call that has ended, unless it is a mistake of the caller, or an answer such as `NOT_FOUND`. */
  failed(error: unknown): void
  /** Counts each item of a call as another call. */
  readonly items: (fates: readonly Fate<unknown>[]) => void
  /** Returns the failures since the store was opened, most frequent first. */
  failures(): readonly CallFailures[]
}

/** True for codes of calls that failed because of a shard, or of the store on it. The type makes sure that every code is here. */
const isOfShards: Readonly<Record<ErrorCode, boolean>> = {
  SHARD_UNAVAILABLE: true,
  SHARD_FULL: true,
  SHARD_DENIED: true,
  SHARD_BUSY: true,
  DEADLINE: true,
  OUTCOME_UNKNOWN: true,
  STATEMENT_FAILED: true,
  NOT_MIGRATED: true,
  CATALOG_DAMAGED: true,
  STORE_TOO_NEW: true,
  STALE_EPOCH: true,
  CONFLICT: true,
  BAD_CLOCK: true,
  CACHE_UNAVAILABLE: true,
  BAD_ID: false,
  BAD_PROPERTY: false,
  BAD_OPTION: false,
  BAD_INDEX: false,
  BAD_QUERY: false,
  CHANGES_GONE: false,
  BAD_CURSOR: false,
  BAD_INDEX_VALUE: false,
  BODY_TOO_LARGE: false,
  // Other rules of `looseleaf status --check` report damaged bodies.
  BODY_DAMAGED: false,
  BODY_UNKNOWN: false,
  ALREADY_EXISTS: false,
  NOT_FOUND: false,
  DUPLICATE_KEY: false,
  VERSION_MISMATCH: false,
  FAR_APART: false,
  SCHEMA_MISMATCH: false,
  // `items` counts its failures.
  SOME_FAILED: false,
  INDEX_NOT_FOUND: false,
  INDEX_NOT_READY: false,
  LAYOUT_MISMATCH: false,
  ABORTED: false,
  CLOSED: false,
}

const MAX_MESSAGE = 300

/** Makes a tally, which calls `onFailure` for every failure that it counts. */
export function createCallTally(now: () => number, onFailure: () => unknown): CallTally {
  // Bounded by the number of codes and shards.
  const byPlace = new Map<string, CallFailures>()
  let calls = 0

  function failed(error: unknown): void {
    if (!isLooseleafError(error) || !isOfShards[error.code]) return
    const { code, shard } = error
    const place = JSON.stringify([code, shard])
    const count = (byPlace.get(place)?.count ?? 0) + 1
    byPlace.set(place, { code, shard, count, lastAt: now(), message: shorten(error.message, MAX_MESSAGE) })
    onFailure()
  }

  return {
    get calls() {
      return calls
    },
    ended: () => void calls++,
    failed,
    items(fates) {
      for (const fate of fates) {
        calls++
        if (!fate.ok) failed(fate.error)
      }
    },
    failures: () => [...byPlace.values()].toSorted((a, b) => b.count - a.count),
  }
}
