/** What a statement does, in few words that many statements have in common. */
export interface StatementSummary {
  /** Its first word, such as `SELECT` or `START`. */
  readonly operation: string
  /** The table that it is about; undefined for one about none, such as `COMMIT`. */
  readonly table: string | undefined
}

/** Texts that are remembered: a store sends few, again and again. */
const MAX_KNOWN = 2_000

const known = new Map<string, StatementSummary>()

/** Behind parentheses, and comments, which tell some servers more. */
const OPERATION = /^(?:[\s(]|\/\*[^]*?\*\/)*([a-z]+)/i
const TABLE = /\b(?:FROM|INTO|UPDATE|ON|TABLE(?: IF(?: NOT)? EXISTS)?)\s+[`"]([^`"]+)[`"]/i

/** Of a statement that a driver of Looseleaf has sent: names of tables are quoted, values are placeholders. */
export function summarise(text: string): StatementSummary {
  let summary = known.get(text)
  if (summary === undefined) {
    summary = {
      operation: (OPERATION.exec(text)?.[1] ?? '').toUpperCase(),
      table: TABLE.exec(text)?.[1],
    }
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(text, summary)
  }
  return summary
}
