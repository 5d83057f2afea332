import { isError, isDate, isBytes } from './kind-of-object.ts'
import type { Fate } from './fate.ts'

/**
 * Everything that can go wrong, by name. A code never changes its meaning; a message may.
 * Each value says whether the same call can succeed later without a change by the caller.
 */
export const errorCodes = {
  /** An id is not a UUID string. */
  BAD_ID: 'permanent',
  /** A bag holds something that cannot be stored; the message has the path to it. */
  BAD_PROPERTY: 'permanent',
  /** An option or a call's argument is not what it has to be. */
  BAD_OPTION: 'permanent',
  /** An index definition is not valid. */
  BAD_INDEX: 'permanent',
  /** A query does not fit its index. */
  BAD_QUERY: 'permanent',
  /** A cursor is not one of this query's. */
  BAD_CURSOR: 'permanent',
  /** Deletions behind the place where a follower of changes stands are forgotten by now: it has to begin again. */
  CHANGES_GONE: 'permanent',
  /** An indexed property has a value that its index cannot hold. */
  BAD_INDEX_VALUE: 'permanent',
  /** A body is larger than the codec's limit, or a bag has more values than `MAX_VALUES`. */
  BODY_TOO_LARGE: 'permanent',
  /** A stored body does not pass its checksum or cannot be decoded, or its row has a version that no write has given. */
  BODY_DAMAGED: 'permanent',
  /** A stored body is in a format that this codec does not know. */
  BODY_UNKNOWN: 'permanent',
  /** `insert` found an entity under this id. */
  ALREADY_EXISTS: 'permanent',
  /** What the call needs is not there: an entity under this id, enough of them for a dictionary. */
  NOT_FOUND: 'permanent',
  /** Another entity has a key of a unique index: `index` is its name, `holder` that entity's id. */
  DUPLICATE_KEY: 'permanent',
  /** `ifVersion` did not hold. */
  VERSION_MISMATCH: 'permanent',
  /** Other writers won every attempt. */
  CONFLICT: 'retryable',
  /** The store has no index of this name, or another definition under it. */
  INDEX_NOT_FOUND: 'permanent',
  /** The index is still being filled, or is being dropped. */
  INDEX_NOT_READY: 'retryable',
  /** The process wrote with an outdated catalog; stores reload it and try again by themselves. */
  STALE_EPOCH: 'retryable',
  /** The tables are not there, or not those of this version. */
  NOT_MIGRATED: 'permanent',
  /** The catalog of a shard cannot be read; the message says how to put it back. */
  CATALOG_DAMAGED: 'permanent',
  /** The store is kept by something that this version does not know; the message says which version does. */
  STORE_TOO_NEW: 'permanent',
  /** The databases hold another layout (number or order of shards, router) than the one that was asked for. */
  LAYOUT_MISMATCH: 'permanent',
  /** A shard cannot be reached. */
  SHARD_UNAVAILABLE: 'retryable',
  /** A cache that processes share cannot be reached. */
  CACHE_UNAVAILABLE: 'retryable',
  /** A shard refuses the user, the password or the database. */
  SHARD_DENIED: 'permanent',
  /** The disk of a shard, a table or a quota of its database is full. Small changes may pass meanwhile; make room, and calls pass again. */
  SHARD_FULL: 'retryable',
  /** A shard is locked, full of waiting calls or out of connections. */
  SHARD_BUSY: 'retryable',
  /** A call took longer than its deadline. */
  DEADLINE: 'retryable',
  /** The caller's signal fired. */
  ABORTED: 'permanent',
  /**
   * A write was sent and its answer lost: it may or may not have happened. Of a put or insert without an id, and of an update
   * without `ifVersion`, `retryable` is false: the same call again could be done twice. `entity` is the id, a fresh one too:
   * put again with it, or read it.
   */
  OUTCOME_UNKNOWN: 'retryable',
  /** The database refused a statement for a reason that has no code of its own. */
  STATEMENT_FAILED: 'permanent',
  /** What was given for an entity of a kind, or read of one, does not fit the kind's schema: `issues` says where. */
  SCHEMA_MISMATCH: 'permanent',
  /** The clock of the process or of the server is beyond the times and versions that can be read (the year 2255). */
  BAD_CLOCK: 'permanent',
  /**
   * Items of a call that writes many have failed, and the others are written: `fates` has the fate of each, in order, and `cause` the
   * first failure. `retryable` if every failure is, and if the same call would write none of the other items twice.
   */
  SOME_FAILED: 'permanent',
  /** The store is closed. */
  CLOSED: 'permanent',
} as const

export type ErrorCode = keyof typeof errorCodes

/** One thing that a schema found wrong: a message of the schema's library, and the way to the property. */
export interface SchemaIssue {
  readonly message: string
  readonly path: readonly PropertyKey[]
}

export interface LooseleafErrorOptions {
  /** The shard's name, never with credentials. */
  readonly shard?: string | undefined
  /** The id of the entity in question. */
  readonly entity?: string | undefined
  /** The name of the index in question. */
  readonly index?: string | undefined
  /** The id of the entity that has what was asked for. */
  readonly holder?: string | undefined
  /** What a schema found. */
  readonly issues?: readonly SchemaIssue[] | undefined
  /** The fate of each item of a call that writes many. */
  readonly fates?: readonly Fate<unknown>[] | undefined
  /** Overrides what the code says by default. */
  readonly retryable?: boolean | undefined
  /** True when a write may have happened although it is reported as failed. */
  readonly unknownOutcome?: boolean | undefined
  /** True when the database has undone a statement as a whole, and the same statement may succeed at once. */
  readonly undone?: boolean | undefined
  readonly cause?: unknown
}

/** The one class of every error that Looseleaf throws on purpose. Messages hold names, never stored values or credentials. */
export class LooseleafError extends Error {
  override readonly name = 'LooseleafError'
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly shard: string | undefined
  readonly entity: string | undefined
  readonly index: string | undefined
  readonly holder: string | undefined
  readonly issues: readonly SchemaIssue[] | undefined
  readonly unknownOutcome: boolean
  /**
   * True when the database has undone a statement as a whole because of others that were at the same rows: after a deadlock, or a wait
   * for a lock that was too long. The statement has done nothing, and may succeed at once when it is sent again.
   */
  readonly undone: boolean
  /** There with `SOME_FAILED` only. Logs leave it out, since fates have stored values. */
  declare readonly fates?: readonly Fate<unknown>[]

  constructor(code: ErrorCode, message: string, options: LooseleafErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? errorCodes[code] === 'retryable'
    this.shard = options.shard
    this.entity = options.entity
    this.index = options.index
    this.holder = options.holder
    this.issues = options.issues
    this.unknownOutcome = options.unknownOutcome ?? code === 'OUTCOME_UNKNOWN'
    this.undone = options.undone ?? false
    // Not enumerable: neither JSON nor `console.error` shows it.
    if (options.fates !== undefined) Object.defineProperty(this, 'fates', { value: options.fates })
  }

  /** With the message, which JSON leaves out of other errors, for logs. Not with the cause, which may hold stored values. */
  toJSON(): object {
    return { ...this, message: this.message }
  }
}

/** The error of a call that wrote only some of its items. */
export interface SomeFailedError<T = unknown> extends LooseleafError {
  readonly code: 'SOME_FAILED'
  readonly fates: readonly Fate<T>[]
}

/** True for a LooseleafError, of this code when one is given; also across copies of the package. */
export function isLooseleafError(error: unknown, code: 'SOME_FAILED'): error is SomeFailedError
export function isLooseleafError(error: unknown, code?: ErrorCode): error is LooseleafError
export function isLooseleafError(error: unknown, code?: ErrorCode): boolean {
  return (
    isError(error) &&
    error.name === 'LooseleafError' &&
    (code === undefined || (error as LooseleafError).code === code)
  )
}

/** True for the failure of a statement that the database has undone as a whole; see `LooseleafError.undone`. */
export function isUndone(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.undone
}

const outages: ReadonlySet<ErrorCode> = new Set(['SHARD_UNAVAILABLE', 'SHARD_FULL', 'SHARD_BUSY', 'DEADLINE'])

/** True when a shard did not answer, or has no room, and may take the call later, as opposed to one that refuses it. */
export function isOutage(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.retryable && outages.has(error.code)
}

/** What kind of value this is, in words for a message; never the value itself. */
export function describeKind(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return `a string of ${value.length} characters`
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value)
  if (typeof value === 'bigint') return 'a bigint'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value !== 'object') return `a ${typeof value}`
  try {
    return describeObject(value)
  } catch {
    // A revoked proxy, or one around a Date or bytes.
    return 'an object that cannot be examined'
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${value.length} elements`
  if (isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid Date' : 'a Date'
  if (isBytes(value)) return `${value.length} bytes`
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null
  const name = prototype?.constructor?.name
  return typeof name !== 'string' || name === 'Object' ? 'an object' : `an object of class ${name}`
}
