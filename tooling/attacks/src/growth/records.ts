import type { PlannedMove } from '@looseleaf/store'
import type { Request } from './model.ts'

/*
 * Records of a process, one line of JSON each. Times are microseconds of the monotonic clock that all processes of the machine share.
 */

/** A write of a state is about to be sent. */
export interface WriteRecord {
  readonly kind: 'write'
  readonly number: number
  readonly state: number
  readonly at: number
}

/**
 * The answer to the write of a state. `refused`: another entity has its name. `failed`: the caller was told that the write did not take
 * place. `unknown`: it may have.
 */
export interface AnswerRecord {
  readonly kind: 'answer'
  readonly number: number
  readonly state: number
  readonly at: number
  readonly outcome: 'acknowledged' | 'refused' | 'failed' | 'unknown'
}

/** A state that a reader has seen, at some time between `from` and `to`. Null: no entity. */
export interface SightRecord {
  readonly kind: 'sight'
  readonly call: string
  readonly number: number
  readonly state: number | null
  readonly from: number
  readonly to: number
}

/** A query, and everything that it found. */
export interface QueryRecord {
  readonly kind: 'query'
  readonly request: Request
  readonly from: number
  readonly to: number
  readonly found: readonly (readonly [number: number, state: number])[]
  /** True if it was read in pages, between which an entity may move to a later page. */
  readonly paged: boolean
  /** False if a page said that it may lack entities. */
  readonly complete: boolean
}

/** A change that a follower was given. Null: a deletion. */
export interface ChangeRecord {
  readonly kind: 'change'
  readonly number: number
  readonly state: number | null
  readonly version: number
  readonly at: number
}

/** A call that failed. */
export interface ErrorRecord {
  readonly kind: 'error'
  readonly call: string
  readonly from: number
  readonly to: number
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

/** A follower begins at the beginning. `gone`: it was told to, because changes were deleted before it read them. */
export interface BeginningRecord {
  readonly kind: 'beginning'
  readonly gone: boolean
  readonly at: number
}

/** The process has ended its work by itself. */
export interface EndedRecord {
  readonly kind: 'ended'
  readonly at: number
}

/** A move has come to a step. */
export interface StepRecord {
  readonly kind: 'step'
  readonly move: number
  readonly step: string
  readonly at: number
  /** Entities, index rows and claims that were copied by then. */
  readonly copied: number
}

/** A mover has ended a move. */
export interface MovedRecord {
  readonly kind: 'moved'
  readonly move: number
  readonly state: string
  readonly at: number
}

/** A mover has handed a group of buckets over, whose writes had to wait for `ms` milliseconds. */
export interface SealRecord {
  readonly kind: 'seal'
  readonly ms: number
}

/** An answer that is wrong regardless of all others. */
export interface WrongRecord {
  readonly kind: 'wrong'
  readonly message: string
}

export type GrowthRecord =
  | WriteRecord
  | AnswerRecord
  | SightRecord
  | QueryRecord
  | ChangeRecord
  | ErrorRecord
  | BeginningRecord
  | EndedRecord
  | StepRecord
  | MovedRecord
  | SealRecord
  | WrongRecord

export type Role = 'write' | 'read' | 'follow' | 'consume' | 'clean' | 'move' | 'drain' | 'repair' | 'undo'

/** Configuration of a process. */
export interface GrowthConfig {
  readonly role: Role
  readonly urls: readonly string[]
  readonly seed: number
  /** Number of entities, and of writers, each of which has every so many-th entity. */
  readonly entities: number
  readonly writers: number
  /** Entities of each writer that get half of all writes and reads. */
  readonly hot: number
  /** Concurrent callers of a writer or reader, and the pause of each after a call. */
  readonly clients: number
  readonly restMs: number
  /** For a writer: the remainder of its entities' numbers, and the histories of its predecessors. */
  readonly part: number
  readonly earlier: readonly string[]
  /** For a mover: its move, or the shard that it drains. */
  readonly plan?: PlannedMove | undefined
  readonly shard?: number | undefined
  readonly leaseMs: number
  /** Times of the store and the mover run so many times as fast. */
  readonly speed: number
  /** For a mover: the most rows that it copies or deletes in a second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
}
