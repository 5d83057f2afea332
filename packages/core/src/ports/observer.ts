import type { ErrorCode } from '../errors.ts'
import type { SentStatement } from './statement-listener.ts'

/** A call of a store that has begun. */
export interface BegunCall {
  /** The method, such as `query`. */
  readonly name: string
  /** The name of the index that is asked, of a call that asks one. */
  readonly index: string | undefined
}

/** A call of a store that has ended. */
export interface EndedCall extends BegunCall {
  /** When it began, by `performance.now()`. */
  readonly startedAt: number
  readonly durationMs: number
  /** Undefined where it succeeded; `UNKNOWN` for an error that is not the store's. */
  readonly failure: ErrorCode | 'UNKNOWN' | undefined
}

/** What happened beneath a call, or in the background, beside its statements. */
export type StoreEvent =
  /**
   * An attempt of a write did not win. `lost`: another write of the entity came first. `stale`: the catalog has changed, which
   * is what the fence of the shard said. `undone`: the database has undone one of its statements, after a deadlock or a wait for a lock
   * that was too long. `unsettled`: its answer was lost.
   */
  | {
      readonly kind: 'attempt'
      readonly outcome: 'lost' | 'stale' | 'undone' | 'unsettled'
      readonly shard: string
    }
  /** Index rows that a page has met and that led to nothing which belongs on it; a query costs as much more. */
  | { readonly kind: 'discarded'; readonly index: string; readonly rows: number }
  /** Index rows that a write has left to the cleaner, because their shard did not take them. */
  | { readonly kind: 'deferred'; readonly tables: readonly string[]; readonly shard: string }
  /**
   * A statement of so many items was refused with this code, perhaps for one of them: each half of them is sent by itself now. An
   * attempt of a write that is tried again is an `attempt`.
   */
  | {
      readonly kind: 'halved'
      readonly code: ErrorCode
      readonly items: number
      readonly shard: string
    }
  /** Calls to a shard are refused from now on, since its server cannot be reached (`opened`), or may pass again (`closed`). */
  | { readonly kind: 'breaker'; readonly outcome: 'opened' | 'closed'; readonly shard: string }
  | CleanerEvent
  | ConsumerEvent

/** What a cleaner tells that works on the store in this process; it is no call's. */
export type CleanerEvent =
  /**
   * This process begins its part in filling or sweeping an index, and one of the others follows. `halted`: somebody has paused or
   * hidden it. `stopped`: the cleaner was told to stop. A unique index is two of them, its rows and its claims.
   */
  | {
      readonly kind: 'cleaning'
      readonly work: 'fill' | 'sweep'
      readonly outcome: 'begun' | 'ended' | 'halted' | 'stopped' | 'failed'
      readonly index: string
    }
  /** A page of that is done. Entities that are read for several indexes at once are counted for each. */
  | (CleanerCounts & {
      readonly kind: 'cleaned'
      readonly work: 'fill' | 'sweep'
      readonly index: string
      readonly shard: string
    })
  /** A round after the recent writes of a shard that this process follows; one that fails tells what it has done too. */
  | (CleanerCounts & {
      readonly kind: 'round'
      readonly shard: string
      /** Age of the oldest update that it had no time for, in milliseconds; 0 where there is none. */
      readonly lagMs: number
      /** Of `removed`, how many were of which index, by name; one that lost none is not among them. */
      readonly removedByIndex: ReadonlyMap<string, number>
    })
  /** Something of a running cleaner has failed, and is tried again. */
  | { readonly kind: 'cleaner_failed'; readonly code: ErrorCode | 'UNKNOWN' }

/** A consumer of changes in this process has done a round on a shard that it has a part in. */
export interface ConsumerEvent {
  readonly kind: 'consumed'
  readonly consumer: string
  readonly shard: string
  /** Changes that were handled in the round, attempts that were refused, and changes that became dead letters. */
  readonly handled: number
  readonly failed: number
  readonly givenUp: number
  /** Age of the oldest change that was not handled, or of the floor, in milliseconds; `Infinity` at its beginning, undefined where it is not known. */
  readonly lagMs: number | undefined
}

export interface CleanerCounts {
  /** Looked at: entities, tombstones included, and index rows. */
  readonly entities: number
  readonly rows: number
  /** Rows that were missing; of an index that is filled, all that were written. */
  readonly added: number
  /** Dangling rows that were deleted. */
  readonly removed: number
  /** Entities whose body this process cannot decode. */
  readonly undecodable: number
}

/** Who is told what happens in a store: its observer, and the traces that are open. */
export interface StoreEvents {
  /** While false nobody listens, and nothing has to be made to be told. */
  readonly isWanted: boolean
  /** Says what has happened beneath a call, or beside all. Never throws. */
  happened(event: StoreEvent): void
  /** Does work of nobody in particular, which may go on after the call that has begun it: no call and no trace has part in it. */
  detached<T>(work: () => T): T
}

/**
 * Is told what a store does, as it does it. Everything is called in the asynchronous context of the work, and no work waits for
 * it: what it throws is told as a warning, once, and is lost. `Token` is what it knows a call by, such as a span.
 */
export interface Observer<Token = unknown> {
  /**
   * A call has begun; its answer comes back with what is told of the call. With undefined nothing is but its end, which costs less: nobody has
   * to know then for whom statements are sent.
   */
  callBegan?(call: BegunCall): Token | undefined
  callEnded?(call: EndedCall, token: Token | undefined): void
  /**
   * Of every statement that was sent. `tokens` are those of the calls that share it, as far as they have any; `calls` is how many share it.
   * None do where it is the store's own work.
   */
  statementSent?(statement: SentStatement, tokens: readonly Token[], calls: number): void
  happened?(event: StoreEvent, tokens: readonly Token[]): void
}
