import type { Recording } from '@looseleaf-tooling/lab/processes'
import type { AskedQuery, Content } from '../indexes.ts'

/*
 * What processes write down, a line of JSON each, before they send a write and after they got an answer. Moments are
 * microseconds of the machine's monotonic clock, which all its processes share.
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

/** The answer to a write. What is `failed` did not take place, by what the caller was told; `unknown` is anybody's guess. */
export interface EndRecord {
  readonly kind: 'end'
  readonly number: number
  readonly at: number
  readonly outcome: 'acknowledged' | 'failed' | 'unknown'
  /** Of a put that was acknowledged. */
  readonly version?: number | undefined
  /** The operation whose state an update was made from. */
  readonly previous?: number | undefined
  /** The version that a conditional write was made on. */
  readonly base?: number | undefined
  /** The error's code. */
  readonly code?: string | undefined
  /** False: acknowledged, with index rows that are left to the cleaner. */
  readonly indexed?: false | undefined
}

/** A state that somebody has seen; without an operation that wrote it: nothing was there. */
export interface SightRecord {
  readonly kind: 'sight'
  readonly id: string
  /** It was so at some time from here on. */
  readonly start: number
  readonly end: number
  /** When the call began, where it was told to allow for what is older. */
  readonly called?: number | undefined
  /** Not told by a list. */
  readonly version?: number | undefined
  /** The operation that says it wrote this. */
  readonly by?: number | undefined
  readonly previous?: number | undefined
  readonly content?: Content | undefined
  /** True for one of the entities that a query gave. */
  readonly inQuery?: true | undefined
}

/** A query and all that it found; each entity found is a sight as well. */
export interface QueryRecord {
  readonly kind: 'query'
  readonly start: number
  readonly end: number
  readonly called?: number | undefined
  /** True where replicas have answered. */
  readonly fromReplicas?: true | undefined
  readonly asked: AskedQuery
  readonly found: readonly string[]
  /** False: it said by itself that it may lack something. */
  readonly complete?: false | undefined
}

/** A call that did not write and failed. */
export interface ErrorRecord {
  readonly kind: 'error'
  readonly start: number
  readonly end: number
  readonly code: string
}

/** An answer that is wrong by itself, whatever else happened. */
export interface WrongRecord {
  readonly kind: 'wrong'
  readonly message: string
}

/** What the process holds of the machine. */
export interface MemoryRecord {
  readonly kind: 'memory'
  readonly at: number
  /** Bytes of heap in use. */
  readonly heap: number
  /** Bytes of memory that the process has altogether. */
  readonly rss: number
  /** Right after a collection, so that all of the heap is in use indeed. */
  readonly collected?: true | undefined
  /** Sockets that it has open, where the system tells. */
  readonly sockets?: number | undefined
  /** `before` the store was opened, `idle` when the callers are done, `after` it was closed; else at work. */
  readonly phase?: 'before' | 'idle' | 'after' | undefined
}

/** The process stood still, which is nobody's wait. */
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

/** What one process wrote down, and when it was known to be gone. */
export type ProcessHistory = Recording<HistoryRecord>
