import { isLooseleafError, type ErrorCode, type Fate } from '@looseleaf/core'

/** Calls that have failed with one code on one shard. */
export interface CallFailures {
  readonly code: ErrorCode
  /** Undefined where the error names none. */
  readonly shard: string | undefined
  readonly count: number
  /** Milliseconds since 1970, by the clock of the process. */
  readonly lastAt: number
  /** Message of the last error, cut short. It names things, and no values. */
  readonly message: string
}

/** Counts the calls of a store, and those that have failed because of a shard. */
export interface CallTally {
  /** Calls that have ended since the store was opened. */
  readonly calls: number
  ended(): void
  /** Takes the error of a call. Mistakes of the caller and answers such as `NOT_FOUND` are not counted. */
  failed(error: unknown): void
  /** Counts each item of a call as a call of its own. */
  readonly items: (fates: readonly Fate<unknown>[]) => void
  /** Since the store was opened, most first. */
  failures(): readonly CallFailures[]
}

/** Whether a code says that a shard, or the store on it, did not serve a call. A new code does not compile before it is placed here. */
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
  // Rules about bodies find these.
  BODY_DAMAGED: false,
  BODY_UNKNOWN: false,
  ALREADY_EXISTS: false,
  NOT_FOUND: false,
  DUPLICATE_KEY: false,
  VERSION_MISMATCH: false,
  SCHEMA_MISMATCH: false,
  // Its items are counted one by one.
  SOME_FAILED: false,
  INDEX_NOT_FOUND: false,
  INDEX_NOT_READY: false,
  LAYOUT_MISMATCH: false,
  ABORTED: false,
  CLOSED: false,
}

const MAX_MESSAGE = 300

/** `onFailure` is called with every failure that is counted. */
export function createCallTally(now: () => number, onFailure: () => unknown): CallTally {
  // Codes times shards bound its size.
  const byPlace = new Map<string, CallFailures>()
  let calls = 0

  function failed(error: unknown): void {
    if (!isLooseleafError(error) || !isOfShards[error.code]) return
    const { code, shard } = error
    const place = JSON.stringify([code, shard])
    const count = (byPlace.get(place)?.count ?? 0) + 1
    byPlace.set(place, { code, shard, count, lastAt: now(), message: error.message.slice(0, MAX_MESSAGE) })
    onFailure()
  }

  return {
    get calls() {
      return calls
    },
    ended: () => void calls++,
    failed,
    items(fates) {
      calls += fates.length
      for (const fate of fates) if (!fate.ok) failed(fate.error)
    },
    failures: () => [...byPlace.values()].toSorted((a, b) => b.count - a.count),
  }
}
