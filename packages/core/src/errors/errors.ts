import { isError, isDate, isBytes } from '../platform/kind-of-object.ts'
import { counted } from '../platform/number-text.ts'
import type { Fate } from './fate.ts'

/**
 * The codes of all errors. A code never changes its meaning; a message may. The value tells whether the same call may
 * succeed later (`retryable`) or fails until its caller changes something (`permanent`).
 */
export const errorCodes = {
  /** An id is not a UUID string. */
  BAD_ID: 'permanent',
  /** A bag has a value that cannot be stored; the message has its path. */
  BAD_PROPERTY: 'permanent',
  /** An option or an argument of a call is not valid. */
  BAD_OPTION: 'permanent',
  /** An index definition is not valid. */
  BAD_INDEX: 'permanent',
  /** A query does not fit its index. */
  BAD_QUERY: 'permanent',
  /** A cursor does not belong to this query. */
  BAD_CURSOR: 'permanent',
  /** Deletions after a follower's place in the changes were purged, so the follower has to start over. */
  CHANGES_GONE: 'permanent',
  /** An indexed property has a value that its index cannot hold. */
  BAD_INDEX_VALUE: 'permanent',
  /** A body is larger than the codec's limit, or a bag has more values than `MAX_VALUES`. */
  BODY_TOO_LARGE: 'permanent',
  /** A stored body fails its checksum or cannot be decoded, or its row has a version that no write can have given. */
  BODY_DAMAGED: 'permanent',
  /** A stored body is in a format that this codec does not know. */
  BODY_UNKNOWN: 'permanent',
  /** `insert` found an entity under this id. */
  ALREADY_EXISTS: 'permanent',
  /** The call needs an entity that does not exist, or more entities than there are, such as to train a dictionary. */
  NOT_FOUND: 'permanent',
  /** Another entity has this key of a unique index. `index` is the name of the index, `holder` the id of that entity. */
  DUPLICATE_KEY: 'permanent',
  /** The entity does not have the version of `ifVersion`. */
  VERSION_MISMATCH: 'permanent',
  /** The items of a batch are not all in one bucket, or without buckets on one shard. `item` is the first that is elsewhere. */
  FAR_APART: 'permanent',
  /** Other writers won every attempt. */
  CONFLICT: 'retryable',
  /** The store has no index of this name, or another definition under it. */
  INDEX_NOT_FOUND: 'permanent',
  /** The index is still being filled, or is being dropped. */
  INDEX_NOT_READY: 'retryable',
  /** The process wrote with a stale catalog. Stores reload the catalog and retry by themselves. */
  STALE_EPOCH: 'retryable',
  /** Tables are missing, or belong to another version of Looseleaf. */
  NOT_MIGRATED: 'permanent',
  /** The catalog of a shard cannot be read; the message says how to restore it. */
  CATALOG_DAMAGED: 'permanent',
  /** The store uses a feature that this version does not know; the message names the version that does. */
  STORE_TOO_NEW: 'permanent',
  /** The databases have another layout (shards, router) than the one that was asked for. */
  LAYOUT_MISMATCH: 'permanent',
  /** A shard cannot be reached. */
  SHARD_UNAVAILABLE: 'retryable',
  /** The shared cache cannot be reached. */
  CACHE_UNAVAILABLE: 'retryable',
  /** A shard refuses the user, the password or the database. */
  SHARD_DENIED: 'permanent',
  /** The disk of a shard, a table or a quota of its database is full. Writes succeed again once there is room; small ones may succeed before. */
  SHARD_FULL: 'retryable',
  /** A shard is locked, full of waiting calls or out of connections. */
  SHARD_BUSY: 'retryable',
  /** A call took longer than its deadline. */
  DEADLINE: 'retryable',
  /** The caller's signal fired. */
  ABORTED: 'permanent',
  /**
   * A write was sent and its answer did not arrive, so it may or may not have happened. `retryable` is false for a put or insert
   * without an id and for an update without `ifVersion`, because a retry could do the write twice. `entity` is the id, also if
   * it was new: put again with this id, or read it.
   */
  OUTCOME_UNKNOWN: 'retryable',
  /** The database refused a statement for a reason that has no code of its own. */
  STATEMENT_FAILED: 'permanent',
  /** An entity that was given or read does not match the schema of its kind; `issues` has the paths. */
  SCHEMA_MISMATCH: 'permanent',
  /** The clock of the process or of the server is beyond the readable times and versions (the year 2255). */
  BAD_CLOCK: 'permanent',
  /**
   * Some items of a call that writes many failed, and the others are written. `fates` has the fate of each item, in order;
   * `cause` is the first failure. `retryable` is true if every failure is, and if a retry would write no other item twice.
   */
  SOME_FAILED: 'permanent',
  /** The store is closed. */
  CLOSED: 'permanent',
} as const

export type ErrorCode = keyof typeof errorCodes

/** One mismatch with a schema: the message of the schema's library, and the path to the property. */
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
  /** The id of the entity that has the key. */
  readonly holder?: string | undefined
  /** The place of the item of a batch, from 0. */
  readonly item?: number | undefined
  /** Mismatches with the schema. */
  readonly issues?: readonly SchemaIssue[] | undefined
  /** The fate of each item of a call that writes many. */
  readonly fates?: readonly Fate<unknown>[] | undefined
  /** Default: by the code, see `errorCodes`. */
  readonly retryable?: boolean | undefined
  /** True if the write may have happened although it is reported as failed. */
  readonly unknownOutcome?: boolean | undefined
  /** See `LooseleafError.undone`. */
  readonly undone?: boolean | undefined
  readonly cause?: unknown
}

/** The class of every error that Looseleaf throws on purpose. Messages have names, never stored values or credentials. */
export class LooseleafError extends Error {
  override readonly name = 'LooseleafError'
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly shard: string | undefined
  readonly entity: string | undefined
  readonly index: string | undefined
  readonly holder: string | undefined
  /** The place of the item of a batch because of which nothing was written, from 0. */
  readonly item: number | undefined
  readonly issues: readonly SchemaIssue[] | undefined
  readonly unknownOutcome: boolean
  /**
   * True if the database rolled back the whole statement because of concurrent statements: after a deadlock or a lock wait
   * timeout. The statement changed nothing, and may succeed when it is sent again at once.
   */
  readonly undone: boolean
  /** Present with `SOME_FAILED` only. Not enumerable, because fates have stored values that logs must not show. */
  declare readonly fates?: readonly Fate<unknown>[]

  constructor(code: ErrorCode, message: string, options: LooseleafErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? errorCodes[code] === 'retryable'
    this.shard = options.shard
    this.entity = options.entity
    this.index = options.index
    this.holder = options.holder
    this.item = options.item
    this.issues = options.issues
    this.unknownOutcome = options.unknownOutcome ?? code === 'OUTCOME_UNKNOWN'
    this.undone = options.undone ?? false
    if (options.fates !== undefined) Object.defineProperty(this, 'fates', { value: options.fates })
  }

  /** Includes the message, which JSON leaves out of other errors. Leaves out the cause, which may have stored values. */
  toJSON(): object {
    return { ...this, message: this.message }
  }
}

/** Returns the error of an option or an argument that is not valid. The message names it, the expectation and the way out. */
export function badOption(message: string): LooseleafError {
  return new LooseleafError('BAD_OPTION', message)
}

/** Error of a call that wrote some of its items. */
export interface SomeFailedError<T = unknown> extends LooseleafError {
  readonly code: 'SOME_FAILED'
  readonly fates: readonly Fate<T>[]
}

/** The error of a write whose unique key another entity has: the `holder` has it in the `index`. */
export interface DuplicateKeyError extends LooseleafError {
  readonly code: 'DUPLICATE_KEY'
  readonly entity: string
  readonly index: string
  readonly holder: string
}

/** Returns true for a LooseleafError, with this code if one is given. Recognizes the errors of another copy of this package. */
export function isLooseleafError(error: unknown, code: 'SOME_FAILED'): error is SomeFailedError
export function isLooseleafError(error: unknown, code: 'DUPLICATE_KEY'): error is DuplicateKeyError
export function isLooseleafError(error: unknown, code?: ErrorCode): error is LooseleafError
export function isLooseleafError(error: unknown, code?: ErrorCode): boolean {
  return (
    isError(error) &&
    error.name === 'LooseleafError' &&
    (code === undefined || (error as LooseleafError).code === code)
  )
}

/** Returns true for the error of a statement that the database rolled back as a whole; see `LooseleafError.undone`. */
export function isUndone(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.undone
}

const outages: ReadonlySet<ErrorCode> = new Set(['SHARD_UNAVAILABLE', 'SHARD_FULL', 'SHARD_BUSY', 'DEADLINE'])

/** Returns true if a shard did not answer or has no room, so that it may accept the call later. */
export function isOutage(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.retryable && outages.has(error.code)
}

/** Tells whether an error concerns one shard only, so that the work on the other shards may go on. */
export function isOfShard(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.code !== 'ABORTED' && error.code !== 'CLOSED'
}

const undecodable: ReadonlySet<ErrorCode> = new Set(['BODY_DAMAGED', 'BODY_UNKNOWN', 'BODY_TOO_LARGE'])

/** Returns true for the error of a body that a codec cannot decode. */
export function isUndecodable(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && undecodable.has(error.code)
}

/** Describes the type of a value in words for a message, never the value itself. */
export function describeKind(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return `a string of ${counted(value.length, 'character')}`
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value)
  if (typeof value === 'bigint') return 'a bigint'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value !== 'object') return `a ${typeof value}`
  try {
    return describeObject(value)
  } catch {
    // A revoked proxy, or a proxy of a Date or bytes.
    return 'an object that cannot be examined'
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${counted(value.length, 'element')}`
  if (isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid Date' : 'a Date'
  if (isBytes(value)) return counted(value.length, 'byte')
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null
  const name = prototype?.constructor?.name
  return typeof name !== 'string' || name === 'Object' ? 'an object' : `an object of class ${name}`
}
