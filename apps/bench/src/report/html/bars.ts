import { formatNumber, shortNumber } from '../numbers.ts'
import type { ResultRow } from '../results.ts'
import { titleOf } from '../titles.ts'
import { drawing, tag, text } from './svg.ts'

const WIDTH = 390
const RIGHT = 54
/** Upper bound of the average width of a title's characters, at the largest font size of the page. */
const CHARACTER = 7.2
/** Distance between a title and its bar. */
const GAP = 8
/** Least width of the bars. A drawing with long titles becomes wider instead. */
const LEAST_BARS = 100
const ROW = 24
const BAR = 13

/** Draws the calls a second of each side as a bar from zero, with a line from the least to the greatest round. */
export function bars(rows: readonly ResultRow[], label: string): string {
  const greatest = Math.max(...rows.map(({ spread }) => spread.opsPerSecond[1]))
  const longest = Math.max(...rows.map(({ side }) => titleOf(side).length))
  const left = Math.ceil(longest * CHARACTER) + GAP
  const width = Math.max(WIDTH, left + LEAST_BARS + RIGHT)
  const place = (value: number): number => left + (value / greatest) * (width - left - RIGHT)
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
      text(left - GAP, middle + 4, titleOf(row.side), { 'text-anchor': 'end' }),
      tag('rect', {
        x: left,
        y: middle - BAR / 2,
        width: Math.max(1, place(row.opsPerSecond) - left),
        height: BAR,
        rx: 2,
      }),
      tag('path', { class: 'spread', d: `M${place(low).toFixed(1)} ${middle}H${place(high).toFixed(1)}` }),
      text(place(high) + 6, middle + 4, shortNumber(row.opsPerSecond), { class: 'value' }),
    )
  })
  return drawing(width, rows.length * ROW, label, ...drawn)
}
