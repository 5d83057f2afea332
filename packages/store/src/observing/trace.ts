import type { BegunCall, EndedCall, SentStatement, StoreEvent } from '@looseleaf/core'
import { type Inlined, summarise, type StatementSummary, platformTime } from '@looseleaf/core/internal'

/** The calls, statements and events of a piece of work so far; see `DataStore.trace`. */
export interface Trace {
  /** Beginning of the work, by `performance.now()`. */
  readonly startedAt: number
  /** In the order of their beginnings. */
  readonly calls: readonly TracedCall[]
  /** In the order of their ends. Includes statements shared with calls outside of the trace. */
  readonly statements: readonly TracedStatement[]
  readonly events: readonly StoreEvent[]
  /** Entities that its calls have read by id and through indexes. Scans of all entities do not count. */
  readonly entitiesRead: number
  /** Pages of queries that may lack an item, because an index could not answer in full; see `cost.complete`. */
  readonly incompletePages: number
  /** Calls, statements and events that were not kept, because there were more than 10,000. */
  readonly omitted: number
}

export type TracedCall = Inlined<
  BegunCall & {
    readonly startedAt: number
    /** Undefined until the call has ended. */
    readonly durationMs: number | undefined
    readonly failure: EndedCall['failure']
  }
>

export type TracedStatement = Inlined<
  SentStatement &
    StatementSummary & {
      /** The calls of this trace that share it. */
      readonly calls: readonly TracedCall[]
      /** Number of calls outside of this trace that share it. */
      readonly others: number
    }
>

/** Calls, statements and events that a trace keeps, all together. */
export const MAX_TRACED = 10_000

export interface TraceLog {
  readonly trace: Trace
  begin(call: BegunCall, startedAt: number): OpenCall
  sent(statement: SentStatement, calls: readonly TracedCall[], others: number): void
  happened(event: StoreEvent): void
  entitiesRead(entities: number, isComplete: boolean): void
  /** Ends the trace. Work that continues in the background is no longer part of it. */
  end(): void
}

/** A call in a trace whose end is filled in later. */
export type OpenCall = { -readonly [Property in keyof TracedCall]: TracedCall[Property] }

export function createTraceLog(): TraceLog {
  const calls: TracedCall[] = []
  const statements: TracedStatement[] = []
  const events: StoreEvent[] = []
  const numbers = { entitiesRead: 0, incompletePages: 0, omitted: 0 }
  const trace = { startedAt: platformTime.elapsed(), calls, statements, events, ...numbers }

  let hasEnded = false

  function keep<T>(list: T[], item: T): void {
    if (hasEnded) return
    if (calls.length + statements.length + events.length < MAX_TRACED) list.push(item)
    else trace.omitted++
  }

  return {
    trace,
    begin({ name, index }, startedAt) {
      const call: OpenCall = { name, index, startedAt, durationMs: undefined, failure: undefined }
      keep(calls, call)
      return call
    },
    sent: (statement, sharing, others) =>
      keep(statements, { ...statement, ...summarise(statement.text), calls: sharing, others }),
    happened: (event) => keep(events, event),
    entitiesRead(entities, isComplete) {
      if (hasEnded) return
      trace.entitiesRead += entities
      if (!isComplete) trace.incompletePages++
    },
    end() {
      hasEnded = true
    },
  }
}
