import type { Inlined } from './inlined.ts'
/** Operation and table of a statement, which many statements have in common. */
export type StatementSummary = Inlined<{
  /** First word of the statement, such as `SELECT` or `START`; `TRANSACTION` for a whole transaction in one text. */
  readonly operation: string
  /**
   * Name of the first table, or of the last one that a whole transaction writes rows to, which is that of the entities; undefined for a
   * statement without one, such as `COMMIT`.
   */
  readonly table: string | undefined
  /** Name of a second table, whose rows a SELECT reads beside those of `table`. Absent for other statements. */
  readonly joined?: string
}>

/** Number of statement texts in the cache. A store sends few different ones. */
const MAX_KNOWN = 2_000

const known = new Map<string, StatementSummary>()

/** Skips parentheses and comments before the first word; some servers read hints in such comments. */
const OPERATION = /^(?:[\s(]|\/\*[^]*?\*\/)*([a-z]+)/i
const TRANSACTION = /^(?:START TRANSACTION|BEGIN IMMEDIATE);/
const TABLE = /\b(?:FROM|INTO|UPDATE|ON|TABLE(?: IF(?: NOT)? EXISTS)?)\s+[`"]([^`"]+)[`"]/i
/** A table that rows are inserted into or updated in. A batched swap names it behind the rows that it joins. */
const WRITTEN = /\b(?:INSERT INTO|UPDATE|STRAIGHT_JOIN)\s+[`"]([^`"]+)[`"]/gi
const JOINED = /\bLEFT JOIN\s+[`"]([^`"]+)[`"]/i

function summaryOfStatement(text: string): StatementSummary {
  const joined = JOINED.exec(text)?.[1]
  return {
    operation: (OPERATION.exec(text)?.[1] ?? '').toUpperCase(),
    table: TABLE.exec(text)?.[1],
    ...(joined !== undefined && { joined }),
  }
}

function summaryOfTransaction(text: string): StatementSummary {
  let table: string | undefined
  for (const [, written] of text.matchAll(WRITTEN)) table = written
  return { operation: 'TRANSACTION', table }
}

/** Summarizes a statement of a Looseleaf driver, in which table names are quoted and values are placeholders. */
export function summarise(text: string): StatementSummary {
  let summary = known.get(text)
  if (summary === undefined) {
    summary = TRANSACTION.test(text) ? summaryOfTransaction(text) : summaryOfStatement(text)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(text, summary)
  }
  return summary
}
