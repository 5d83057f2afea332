import type { ErrorCode } from '../errors/errors.ts'
import type { SentStatement } from './statement-listener.ts'

/** A call to a store that has begun. */
export interface BegunCall {
  /** Method of the call, such as `query`. */
  readonly name: string
  /** Name of the queried index; undefined for a call without one. */
  readonly index: string | undefined
}

/** A call to a store that has ended. */
export interface EndedCall extends BegunCall {
  /** Time of its begin by `performance.now()`, in milliseconds. */
  readonly startedAt: number
  readonly durationMs: number
  /** Code of its error, `UNKNOWN` for an error of another class; undefined if it succeeded. */
  readonly failure: ErrorCode | 'UNKNOWN' | undefined
}

/** An event other than a statement, within a call or in the background. */
export type StoreEvent =
  /**
   * An attempt of a write did not commit.
   * - `superseded`: another write of the entity came first.
   * - `stale`: the shard has another epoch, because the catalog has changed.
   * - `undone`: the database rolled back one of its statements, after a deadlock or a lock wait timeout.
   * - `unsettled`: the answer of the commit did not arrive.
   */
  | {
      readonly kind: 'attempt'
      readonly outcome: 'superseded' | 'stale' | 'undone' | 'unsettled'
      readonly shard: string
    }
  /** A page read index rows that led to no entity of the page: lost or dangling rows, which add to the cost of a query. */
  | { readonly kind: 'discarded'; readonly index: string; readonly rows: number }
  /** A read with `onUnavailable: 'skip'` left out the data of a shard, which did not answer. Reported once per call and shard. */
  | { readonly kind: 'skipped'; readonly code: ErrorCode; readonly shard: string }
  /** A write left index rows to the cleaner, because their shard did not accept them. */
  | { readonly kind: 'deferred'; readonly tables: readonly string[]; readonly shard: string }
  /**
   * A statement of several items was rejected with this code, perhaps because of one of them, and its halves are sent again. A retry of
   * a write is an `attempt` instead.
   */
  | {
      readonly kind: 'halved'
      readonly code: ErrorCode
      readonly items: number
      readonly shard: string
    }
  /** The breaker of a shard has opened, because its server is unreachable, or has closed again. */
  | { readonly kind: 'breaker'; readonly outcome: 'opened' | 'closed'; readonly shard: string }
  /** A write has waited for a bucket that a move has sealed. The time of several waits of one write is reported for each. */
  | { readonly kind: 'seal_wait'; readonly shard: string; readonly waitMs: number }
  | CleanerEvent
  | ConsumerEvent
  | MoverEvent

/** An event of a cleaner in this process. It belongs to no call. */
export type CleanerEvent =
  /**
   * `begun`: this process begins to fill or sweep an index. Exactly one of the other outcomes follows. `halted`: the index was
   * paused or hidden. `stopped`: the cleaner was stopped. A unique index counts as two indexes, its rows and its claims.
   */
  | {
      readonly kind: 'cleaning'
      readonly work: 'fill' | 'sweep'
      readonly outcome: 'begun' | 'ended' | 'halted' | 'stopped' | 'failed'
      readonly index: string
    }
  /**
   * A page of a fill or sweep is done, or dangling rows were deleted, also by work that fails later. An entity that is read once for several
   * indexes counts for each of them.
   */
  | (CleanerCounts & {
      readonly kind: 'cleaned'
      readonly work: 'fill' | 'sweep'
      readonly index: string
      readonly shard: string
    })
  /** This process has done a round over the recent writes of a shard. A failed round reports its counts too. */
  | (CleanerCounts & {
      readonly kind: 'round'
      readonly shard: string
      /** Age of the oldest update that it has not processed, in milliseconds; 0 if there is none. */
      readonly lagMs: number
      /** `removed` by the name of the index. Indexes without removed rows are absent. */
      readonly removedByIndex: ReadonlyMap<string, number>
    })
  /** A task of a running cleaner has failed and will be retried. */
  | { readonly kind: 'cleaner_failed'; readonly code: ErrorCode | 'UNKNOWN' }

/** A consumer in this process has done a round on a shard in which it owns partitions. */
export interface ConsumerEvent {
  readonly kind: 'consumed'
  readonly consumer: string
  readonly shard: string
  /** Counts of the round: changes handled, attempts rejected, and changes that became dead letters. */
  readonly handled: number
  readonly failed: number
  readonly deadLettered: number
  /**
   * Age of the oldest unhandled change, or of the floor if there is none, in milliseconds. `Infinity` while the consumer is at the
   * beginning; undefined if unknown.
   */
  readonly lagMs: number | undefined
}

/** An event of a move that this process works on. `from` and `to` are the names of its shards. It belongs to no call. */
export type MoverEvent =
  /** `begun`: this process begins to work on the move. Exactly one of the other outcomes follows. `stopped`: its signal was aborted. */
  | {
      readonly kind: 'move'
      readonly outcome: 'begun' | 'ended' | 'undone' | 'stopped' | 'failed'
      readonly move: number
      readonly from: string
      readonly to: string
    }
  /** Entities (with tombstones), index rows and claims were copied. */
  | {
      readonly kind: 'copied'
      readonly from: string
      readonly to: string
      readonly entities: number
      readonly rows: number
      readonly claims: number
    }
  /** A group of buckets has its new owner. Writes of these buckets had to wait for `sealedMs`. */
  | {
      readonly kind: 'handed_over'
      readonly from: string
      readonly to: string
      readonly buckets: number
      readonly sealedMs: number
    }

export interface CleanerCounts {
  /** Entities (with tombstones) and index rows that were compared. */
  readonly entities: number
  readonly rows: number
  /** Missing rows that were written; for a fill, all written rows. */
  readonly added: number
  /** Dangling rows that were deleted. */
  readonly removed: number
  /** Entities whose body this process cannot decode. */
  readonly undecodable: number
}

/** Passes the events of a store to its observer and to open traces. */
export interface StoreEvents {
  /** If false, nobody listens, and callers need not create events. */
  readonly isWanted: boolean
  /** Reports an event of the present call, or of none. Never throws. */
  happened(event: StoreEvent): void
  /** Adds to the numbers of the traces of the present call. `isComplete` is false for a page that may lack an item. */
  entitiesRead(entities: number, isComplete: boolean): void
  /** Runs work that belongs to no call and no trace, and that may outlast the call that started it. */
  detached<T>(work: () => T): T
}

/**
 * Observes the calls, statements and events of a store. The store calls the methods in the asynchronous context of the work and does
 * not await them. The first error of an observer becomes a warning; later ones are ignored. `Token` is the observer's name for
 * a call, such as a span.
 */
export interface Observer<Token = unknown> {
  /**
   * A call has begun. The returned token comes back with the events of the call. Without a token only the end of the call is
   * reported, which costs less, because statements need not be attributed to the call.
   */
  callBegan?(call: BegunCall): Token | undefined
  callEnded?(call: EndedCall, token: Token | undefined): void
  /**
   * A statement has ended. `calls`: number of calls that share it, 0 for the store's own work. `tokens`: the tokens of these
   * calls, as far as they have one.
   */
  statementSent?(statement: SentStatement, tokens: readonly Token[], calls: number): void
  happened?(event: StoreEvent, tokens: readonly Token[]): void
}
