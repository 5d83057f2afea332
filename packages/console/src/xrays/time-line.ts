import { tableKind } from '@looseleaf/core'
import type { Trace } from '@looseleaf/store'
import type { TracedStatement } from '@looseleaf/store/internal'
import { markup, type Html } from '../html/html.ts'
import { milliseconds } from '../html/text.ts'

const WIDTH = 1000
const LEFT = 8
const NAME = 18
const ROW = 16
const GAP = 12

/** Returns the CSS classes of a statement: its kind of table for the colour, `write` for an edge, and `failed`. */
export function kindOf({ operation, table, failure }: TracedStatement): string {
  const kind = tableKind(table)
  const about = kind === 'claims' ? 'index' : kind
  return `${about}${operation === 'SELECT' ? '' : ' write'}${failure === undefined ? '' : ' failed'}`
}

/** Returns the time from the start of a trace to the end of its last statement. */
export function tookMs({ startedAt, statements }: Trace): number {
  return Math.max(0, ...statements.map(({ sentAt, durationMs }) => sentAt + durationMs - startedAt))
}

/** Draws the statements of a trace by shard over its duration. */
export function timeLine(trace: Trace): Html {
  const { startedAt, statements } = trace
  const end = Math.max(tookMs(trace), 0.1)
  const across = (ms: number): number => LEFT + (ms / end) * (WIDTH - 2 * LEFT)
  const drawn: Html[] = []
  let y = 0
  for (const [shard, sent] of shardsInOrder(statements)) {
    drawn.push(markup`<text x="${LEFT}" y="${y + 13}">${shard}</text>`)
    y += NAME
    const lines: number[] = []
    for (const statement of sent) {
      const from = statement.sentAt - startedAt
      // The first line whose last statement has ended.
      const found = lines.findIndex((until) => until <= from)
      const line = found === -1 ? lines.length : found
      lines[line] = from + statement.durationMs
      drawn.push(bar(statement, across(from), across(from + statement.durationMs), y + line * ROW))
    }
    y += lines.length * ROW + GAP
  }
  const label = `${statements.length} statements in ${milliseconds(end)}; the table below lists them`
  return markup`<svg viewBox="0 0 ${WIDTH} ${y + 16}" role="img" aria-label="${label}">
${drawn}<text x="${LEFT}" y="${y + 10}" class="soft">0</text><text x="${WIDTH - LEFT}" y="${y + 10}" class="soft" text-anchor="end">${milliseconds(end)}</text></svg>`
}

/** Groups statements by shard, ordered by name, so that the order is the same on each page. */
function shardsInOrder(statements: readonly TracedStatement[]): [string, TracedStatement[]][] {
  const byShard = Map.groupBy(statements, ({ shard }) => shard)
  return [...byShard].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
}

function bar(statement: TracedStatement, from: number, to: number, y: number): Html {
  const { operation, table = '', durationMs, others } = statement
  const shared = others > 0 ? ', shared with other work' : ''
  return markup`<g class="${kindOf(statement)}${others > 0 ? ' shared' : ''}"><title>${operation} ${table}: ${milliseconds(durationMs)}${shared}</title><rect x="${from.toFixed(1)}" y="${y}" width="${Math.max(3, to - from).toFixed(1)}" height="${ROW - 4}" rx="2"/></g>`
}
