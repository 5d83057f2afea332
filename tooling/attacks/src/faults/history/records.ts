import type { Recording } from '../../lab/processes.ts'
import type { QueryRequest, Content } from '../indexes.ts'

/*
 * Records of a process, one line of JSON each: one before it sends a write, one after each answer. Times are
 * microseconds of the monotonic clock that all processes of the machine share.
 */

/** A write is about to be sent. */
export interface BeginRecord {
  readonly kind: 'begin'
  readonly number: number
  readonly id: string
  readonly at: number
  /** Null for a delete. */
  readonly content: Content | null
}

/**
 * The answer to a write. `failed`: the caller was told that the write did not take place. `unknown`: it may
 * have.
 */
export interface EndRecord {
  readonly kind: 'end'
  readonly number: number
  readonly at: number
  readonly outcome: 'acknowledged' | 'failed' | 'unknown'
  /** Version of an acknowledged put. */
  readonly version?: number | undefined
  /** Operation whose state an update was based on. */
  readonly previous?: number | undefined
  /** Version that a conditional write expected. */
  readonly base?: number | undefined
  /** The error's code. */
  readonly code?: string | undefined
  /** False if the write was acknowledged with index rows deferred to the cleaner. */
  readonly indexed?: false | undefined
}

/** A state that a reader has seen. Without `by`, the entity did not exist. */
export interface SightRecord {
  readonly kind: 'sight'
  readonly id: string
  /** The state was current at some time between `start` and `end`. */
  readonly start: number
  readonly end: number
  /** Start of the call, if the call accepts stale data. */
  readonly called?: number | undefined
  /** Undefined for lists, which report no version. */
  readonly version?: number | undefined
  /** Operation that wrote the state, according to its bag. */
  readonly by?: number | undefined
  readonly previous?: number | undefined
  readonly content?: Content | undefined
  /** True if a query returned the entity. */
  readonly inQuery?: true | undefined
}

/** A query and everything it found. Each entity found is recorded as a sight too. */
export interface QueryRecord {
  readonly kind: 'query'
  readonly start: number
  readonly end: number
  readonly called?: number | undefined
  /** True if replicas answered. */
  readonly fromReplicas?: true | undefined
  readonly request: QueryRequest
  readonly found: readonly string[]
  /** False if the query said that its result may be incomplete. */
  readonly complete?: false | undefined
}

/** A failed call that was not a write. */
export interface ErrorRecord {
  readonly kind: 'error'
  readonly start: number
  readonly end: number
  readonly code: string
}

/** An answer that is wrong regardless of all others. */
export interface WrongRecord {
  readonly kind: 'wrong'
  readonly message: string
}

/** Resources of the process. */
export interface MemoryRecord {
  readonly kind: 'memory'
  readonly at: number
  /** Bytes of heap in use. */
  readonly heap: number
  /** Resident memory of the process in bytes. */
  readonly rss: number
  /** True right after a garbage collection. */
  readonly collected?: true | undefined
  /** Open sockets, if the system reports them. */
  readonly sockets?: number | undefined
  /**
   * `before`: the store is not open yet. `idle`: the callers have finished. `after`: the store is closed.
   * Undefined: under load.
   */
  readonly phase?: 'before' | 'idle' | 'after' | undefined
}

/** The process was stopped; this time counts for no call. */
export interface StoppedRecord {
  readonly kind: 'stopped'
  readonly start: number
  readonly end: number
}

export type HistoryRecord =
  | BeginRecord
  | EndRecord
  | SightRecord
  | QueryRecord
  | ErrorRecord
  | WrongRecord
  | MemoryRecord
  | StoppedRecord

/** Records of one process, and the time by which it was known to be dead. */
export type ProcessHistory = Recording<HistoryRecord>
