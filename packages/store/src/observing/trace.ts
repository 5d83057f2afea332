import {
  summarise,
  type BegunCall,
  type EndedCall,
  type SentStatement,
  type StatementSummary,
  type StoreEvent,
  platformTime,
} from '@looseleaf/core'

/** What a piece of work has caused so far; see `DataStore.trace`. */
export interface Trace {
  /** When it began, by `performance.now()`. */
  readonly startedAt: number
  /** In the order in which they began. */
  readonly calls: readonly TracedCall[]
  /** In the order in which they ended: its own, and those that it shared with others. */
  readonly statements: readonly TracedStatement[]
  readonly events: readonly StoreEvent[]
  /** Calls, statements and events that were not kept, because there were more than 10,000. */
  readonly leftOut: number
}

export interface TracedCall extends BegunCall {
  readonly startedAt: number
  /** Undefined while it is under way. */
  readonly durationMs: number | undefined
  readonly failure: EndedCall['failure']
}

export interface TracedStatement extends SentStatement, StatementSummary {
  /** Those of the trace's calls that it worked for. */
  readonly calls: readonly TracedCall[]
  /** How many calls it worked for that are not of this trace. */
  readonly others: number
}

/** What a trace keeps at the most of calls, statements and events together. */
export const MAX_TRACED = 10_000

/** A trace that is written. */
export interface TraceLog {
  readonly trace: Trace
  begin(call: BegunCall, startedAt: number): OpenCall
  sent(statement: SentStatement, calls: readonly TracedCall[], others: number): void
  happened(event: StoreEvent): void
  /** The work has ended: what it left behind in the background is not part of it. */
  end(): void
}

/** A call in a trace, which is told its end. */
export type OpenCall = { -readonly [Property in keyof TracedCall]: TracedCall[Property] }

export function createTraceLog(): TraceLog {
  const calls: TracedCall[] = []
  const statements: TracedStatement[] = []
  const events: StoreEvent[] = []
  const trace = { startedAt: platformTime.elapsed(), calls, statements, events, leftOut: 0 }

  let hasEnded = false

  function keep<T>(list: T[], one: T): void {
    if (hasEnded) return
    if (calls.length + statements.length + events.length < MAX_TRACED) list.push(one)
    else trace.leftOut++
  }

  return {
    trace,
    begin({ name, index }, startedAt) {
      const call: OpenCall = { name, index, startedAt, durationMs: undefined, failure: undefined }
      keep(calls, call)
      return call
    },
    sent: (statement, of, others) =>
      keep(statements, { ...statement, ...summarise(statement.text), calls: of, others }),
    happened: (event) => keep(events, event),
    end() {
      hasEnded = true
    },
  }
}
