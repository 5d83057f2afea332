/** Operation and table of a statement, which many statements have in common. */
export interface StatementSummary {
  /** First word of the statement, such as `SELECT` or `START`; `TRANSACTION` for a whole transaction in one text. */
  readonly operation: string
  /** Name of the first table; undefined for a statement without one, such as `COMMIT`. */
  readonly table: string | undefined
  /** Name of a second table, whose rows a SELECT reads beside those of `table`. Absent for other statements. */
  readonly joined?: string
}

/** Number of statement texts in the cache. A store sends few different ones. */
const MAX_KNOWN = 2_000

const known = new Map<string, StatementSummary>()

/** Skips parentheses and comments before the first word; some servers read hints in such comments. */
const OPERATION = /^(?:[\s(]|\/\*[^]*?\*\/)*([a-z]+)/i
const TRANSACTION = /^(?:START TRANSACTION|BEGIN IMMEDIATE);/
const TABLE = /\b(?:FROM|INTO|UPDATE|ON|TABLE(?: IF(?: NOT)? EXISTS)?)\s+[`"]([^`"]+)[`"]/i
const JOINED = /\bLEFT JOIN\s+[`"]([^`"]+)[`"]/i

/** Summarizes a statement of a Looseleaf driver, in which table names are quoted and values are placeholders. */
export function summarise(text: string): StatementSummary {
  let summary = known.get(text)
  if (summary === undefined) {
    const joined = JOINED.exec(text)?.[1]
    summary = {
      operation: TRANSACTION.test(text) ? 'TRANSACTION' : (OPERATION.exec(text)?.[1] ?? '').toUpperCase(),
      table: TABLE.exec(text)?.[1],
      ...(joined !== undefined && { joined }),
    }
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(text, summary)
  }
  return summary
}
