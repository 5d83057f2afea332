import {
  guarded,
  summarise,
  type EndedCall,
  type SentStatement,
  type StatementSummary,
  platformTime,
} from '@looseleaf/core'

/** A call that took longer than `slowCallMs`. It has no values, and no ids. */
export interface SlowCall extends EndedCall {
  /** Those that were sent for it, in the order in which they ended; the first 100. */
  readonly statements: readonly SlowStatement[]
  /** How many more there were. */
  readonly moreStatements: number
  /** Slow calls since the one told before that nobody was told of, because 10 were told within a minute. */
  readonly leftOut: number
}

export interface SlowStatement extends StatementSummary, Omit<SentStatement, 'text'> {
  /** How many other calls it worked for. */
  readonly others: number
}

export interface SlowCallOptions {
  /** Calls that take more milliseconds are told. */
  readonly slowCallMs: number
  /** Default: a warning. */
  readonly onSlowCall: ((call: SlowCall) => unknown) | undefined
  readonly onWarning: (message: string) => void
  /** In milliseconds. Default: `performance.now()`. */
  readonly now?: () => number
}

/** Tells of calls that were slow, of some of them where there are many. */
export interface SlowCalls {
  ended(call: EndedCall, log: CallLog): void
}

/** The statements of a call so far. */
export interface CallLog {
  readonly statements: { readonly statement: SentStatement; readonly others: number }[]
  more: number
}

/** So many slow calls are told of within a minute at the most: where one is slow, thousands may be. */
const TOLD = 10
const MINUTE_MS = 60_000
const MAX_STATEMENTS = 100
/** Statements of a warning, the longest of the call. */
const WARNED = 5

export function logStatement(log: CallLog, statement: SentStatement, others: number): void {
  if (log.statements.length < MAX_STATEMENTS) log.statements.push({ statement, others })
  else log.more++
}

export function createSlowCalls({
  slowCallMs,
  onSlowCall,
  onWarning,
  now = platformTime.elapsed,
}: SlowCallOptions): SlowCalls {
  /** When the last ones were told, the first of them first. */
  let toldAt: readonly number[] = []
  let leftOut = 0

  function tell(call: SlowCall): void {
    if (onSlowCall === undefined) return onWarning(warningOf(call, slowCallMs))
    guarded(
      () => onSlowCall(call),
      (error) => onWarning(`onSlowCall failed: ${String(error)}`),
    )
  }

  return {
    ended(call, { statements, more }) {
      if (call.durationMs <= slowCallMs) return
      const at = now()
      toldAt = toldAt.filter((before) => before > at - MINUTE_MS)
      if (toldAt.length >= TOLD) {
        leftOut++
        return
      }
      toldAt = [...toldAt, at]
      const told: SlowCall = {
        ...call,
        statements: statements.map(({ statement: { text, ...statement }, others }) => ({
          ...statement,
          ...summarise(text),
          others,
        })),
        moreStatements: more,
        leftOut,
      }
      leftOut = 0
      tell(told)
    },
  }
}

function warningOf(call: SlowCall, slowCallMs: number): string {
  const { name, index, durationMs, failure, statements, moreStatements, leftOut } = call
  const took = `${index === undefined ? name : `${name} of ${index}`} took ${Math.round(durationMs)} ms, more than slowCallMs of ${slowCallMs}`
  const longest = statements.toSorted((one, other) => other.durationMs - one.durationMs).slice(0, WARNED)
  const shown = longest.map(
    ({ operation, table, shard, rows, durationMs: ms }) =>
      `${table === undefined ? operation : `${operation} ${table}`} on ${shard}: ${Math.round(ms)} ms, ${rows} rows`,
  )
  const others = statements.length + moreStatements - shown.length
  if (others > 0) shown.push(`${others} more`)
  const outcome = failure === undefined ? '' : `, and failed with ${failure}`
  const before = leftOut === 0 ? '' : ` Slow calls before it that were left out: ${leftOut}.`
  return `${took}${outcome}. Its statements: ${shown.join('; ') || 'none'}.${before}`
}
