import { tableKind } from '@looseleaf/core'
import type { Trace } from '@looseleaf/store'
import type { TracedStatement } from '@looseleaf/store/internal'
import { drawing, linearAxis, tenth } from '../kit/drawing.ts'
import { markup, type Html } from '../kit/html.ts'
import { capital, counted, milliseconds } from '../kit/text.ts'
import { joinsOf } from './joins.ts'

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
  const axis = linearAxis([end], LEFT, WIDTH - LEFT)
  const drawn: Html[] = []
  const places = new Map<TracedStatement, Bar>()
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
      const place = {
        from: axis.place(from),
        to: axis.place(from + statement.durationMs),
        y: y + line * ROW,
      }
      places.set(statement, place)
      drawn.push(bar(statement, place))
    }
    y += lines.length * ROW + GAP
  }
  const label = `${capital(counted(statements.length, 'statement'))} in ${milliseconds(end)}; the table below lists ${statements.length === 1 ? 'it' : 'them'}`
  // The last tick has no label if it would touch the label of the end.
  const ticks = axis.ticks.filter((tick) => tick < end * 0.92)
  const labels = ticks.map(
    (tick, i) =>
      markup`<path class="rule" d="M${axis.place(tick)} 0V${y}"/><text x="${axis.place(tick)}" y="${y + 10}" class="soft"${i > 0 ? markup` text-anchor="middle"` : undefined}>${tick === 0 ? '0' : milliseconds(tick)}</text>`,
  )
  const endLabel = markup`<text x="${WIDTH - LEFT}" y="${y + 10}" class="soft" text-anchor="end">${milliseconds(end)}</text>`
  const lines = joinsOf(trace).flatMap(
    ({ rows, entities }) => joinLine(places.get(rows), places.get(entities)) ?? [],
  )
  return drawing({ width: WIDTH, height: y + 16, label }, labels, lines, drawn, endLabel)
}

function joinLine(rows: Bar | undefined, entities: Bar | undefined): Html | undefined {
  if (rows === undefined || entities === undefined) return undefined
  const [from, to] = [rows.y + ROW / 2 - 2, entities.y + ROW / 2 - 2]
  const half = tenth((from + to) / 2)
  return markup`<path class="join" d="M${rows.to} ${from}C${rows.to} ${half} ${entities.from} ${half} ${entities.from} ${to}"/>`
}

/** Place of a statement in the drawing. */
interface Bar {
  readonly from: number
  readonly to: number
  readonly y: number
}

/** Groups statements by shard, ordered by name, so that the order is the same on each page. */
function shardsInOrder(statements: readonly TracedStatement[]): [string, TracedStatement[]][] {
  const byShard = Map.groupBy(statements, ({ shard }) => shard)
  return [...byShard].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
}

function bar(statement: TracedStatement, { from, to, y }: Bar): Html {
  const { operation, table = '', durationMs, others } = statement
  const shared = others > 0 ? ', shared with other work' : ''
  return markup`<g class="${kindOf(statement)}${others > 0 ? ' shared' : ''}"><title>${operation} ${table}: ${milliseconds(durationMs)}${shared}</title><rect x="${from}" y="${y}" width="${tenth(Math.max(3, to - from))}" height="${ROW - 4}" rx="2"/></g>`
}
