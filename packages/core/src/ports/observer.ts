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
   * is what the fence of the shard said. `unsettled`: its answer was lost.
   */
  | { readonly kind: 'attempt'; readonly outcome: 'lost' | 'stale' | 'unsettled'; readonly shard: string }
  /** Index rows that a page has met and that led to nothing which belongs on it; a query costs as much more. */
  | { readonly kind: 'discarded'; readonly index: string; readonly rows: number }
  /** Index rows that a write has left to the cleaner, because their shard did not take them. */
  | { readonly kind: 'deferred'; readonly tables: readonly string[]; readonly shard: string }

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
  /** A call has begun; its answer comes back with what is told of the call. */
  callBegan?(call: BegunCall): Token
  callEnded?(call: EndedCall, token: Token): void
  /** Of every statement that was sent. `tokens` are those of all calls that share it; none for the store's own work. */
  statementSent?(statement: SentStatement, tokens: readonly Token[]): void
  happened?(event: StoreEvent, tokens: readonly Token[]): void
}
