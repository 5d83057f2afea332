import type { EndedCall, SentStatement } from '@looseleaf/core'
import {
  type Inlined,
  guarded,
  summarise,
  type StatementSummary,
  platformTime,
} from '@looseleaf/core/internal'

/** A call that took longer than `slowCallMs`. Contains no values and no ids. */
export interface SlowCall extends EndedCall {
  /** The first 100 statements sent for it, in the order of their ends. */
  readonly statements: readonly SlowStatement[]
  readonly moreStatements: number
  /** Slow calls left out since the last report: a minute has at most 10 reports. */
  readonly omitted: number
}

export type SlowStatement = Inlined<
  StatementSummary &
    Omit<SentStatement, 'text'> & {
      /** Number of other calls that share it. */
      readonly others: number
    }
>

export interface SlowCallOptions {
  /** Milliseconds above which a call is slow. */
  readonly slowCallMs: number
  /** Receives slow calls. Default: a warning for each. */
  readonly onSlowCall: ((call: SlowCall) => unknown) | undefined
  readonly onWarning: (message: string) => void
  /** In milliseconds. Default: `performance.now()`. */
  readonly now?: () => number
}

/** Reports slow calls, at most `MAX_REPORTS` a minute. */
export interface SlowCalls {
  ended(call: EndedCall, log: CallLog): void
}

export interface CallLog {
  readonly statements: { readonly statement: SentStatement; readonly others: number }[]
  more: number
}

/** Reports within a minute. One slow shard makes thousands of calls slow. */
const MAX_REPORTS = 10
const MINUTE_MS = 60_000
/** Statements kept per call. */
const MAX_STATEMENTS = 100
/** Statements in a warning: the longest of the call. */
const MAX_SHOWN = 5

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
  /** Moments of the reports within the last minute, oldest first. */
  let reportedAt: readonly number[] = []
  let omitted = 0

  function report(call: SlowCall): void {
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
      reportedAt = reportedAt.filter((before) => before > at - MINUTE_MS)
      if (reportedAt.length >= MAX_REPORTS) {
        omitted++
        return
      }
      reportedAt = [...reportedAt, at]
      const slowCall: SlowCall = {
        ...call,
        statements: statements.map(({ statement: { text, ...statement }, others }) => ({
          ...statement,
          ...summarise(text),
          others,
        })),
        moreStatements: more,
        omitted,
      }
      omitted = 0
      report(slowCall)
    },
  }
}

function warningOf(call: SlowCall, slowCallMs: number): string {
  const { name, index, durationMs, failure, statements, moreStatements, omitted } = call
  const took = `${index === undefined ? name : `${name} of ${index}`} took ${Math.round(durationMs)} ms, more than slowCallMs of ${slowCallMs}`
  const longest = statements.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, MAX_SHOWN)
  const shown = longest.map(
    ({ operation, table, joined, shard, rows, durationMs: ms }) =>
      `${[operation, table, ...(joined === undefined ? [] : ['with', joined])].join(' ').trimEnd()} on ${shard}: ${Math.round(ms)} ms, ${rows} rows`,
  )
  const others = statements.length + moreStatements - shown.length
  if (others > 0) shown.push(`${others} more`)
  const outcome = failure === undefined ? '' : `, and failed with ${failure}`
  const before = omitted === 0 ? '' : ` Slow calls before it that were left out: ${omitted}.`
  return `${took}${outcome}. Its statements: ${shown.join('; ') || 'none'}.${before}`
}
