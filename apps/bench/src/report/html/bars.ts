import { formatNumber, shortNumber } from '../numbers.ts'
import type { ResultRow } from '../results.ts'
import { titleOf } from '../titles.ts'
import { drawing, tag, text } from './svg.ts'

const WIDTH = 390
const LEFT = 202
const RIGHT = 54
const ROW = 24
const BAR = 13

/** Calls a second of each side as bars from zero, with the least and the greatest round as a line. */
export function bars(rows: readonly ResultRow[], label: string): string {
  const most = Math.max(...rows.map(({ spread }) => spread.opsPerSecond[1]))
  const place = (value: number): number => LEFT + (value / most) * (WIDTH - LEFT - RIGHT)
  const drawn = rows.map((row, i) => {
    const middle = i * ROW + ROW / 2
    const [low, high] = row.spread.opsPerSecond
    return tag(
      'g',
      { class: `side ${row.side.replace(/\W/g, '-')}` },
      tag(
        'title',
        {},
        `${titleOf(row.side)}: ${formatNumber(row.opsPerSecond)}, ${formatNumber(low)} to ${formatNumber(high)}`,
      ),
      text(LEFT - 8, middle + 4, titleOf(row.side), { 'text-anchor': 'end' }),
      tag('rect', {
        x: LEFT,
        y: middle - BAR / 2,
        width: Math.max(1, place(row.opsPerSecond) - LEFT),
        height: BAR,
        rx: 2,
      }),
      tag('path', { class: 'spread', d: `M${place(low).toFixed(1)} ${middle}H${place(high).toFixed(1)}` }),
      text(place(high) + 6, middle + 4, shortNumber(row.opsPerSecond), { class: 'value' }),
    )
  })
  return drawing(WIDTH, rows.length * ROW, label, ...drawn)
}
