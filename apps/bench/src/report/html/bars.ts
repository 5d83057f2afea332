import { drawing, linearAxis, markup, tenth, type Html } from '@looseleaf/console/kit'
import { formatNumber, shortNumber } from '../numbers.ts'
import type { ResultRow } from '../results.ts'
import { titleOf } from '../titles.ts'
import { classOf } from './style.ts'

const WIDTH = 320
/** Room for the number at the end of the longest bar. */
const RIGHT = 54
/** Upper bound of the average width of a title's characters. */
const CHARACTER = 8
/** Height of a title with its bar below. */
const ROW = 38
const BAR = 13

/** Draws the calls a second of each side as a bar from zero, with a line from the least to the greatest round. */
export function bars(rows: readonly ResultRow[], label: string): Html {
  const greatest = Math.max(...rows.map(({ spread }) => spread.opsPerSecond[1]))
  const longest = Math.max(...rows.map(({ side }) => titleOf(side).length))
  // Titles stand above their bars, so that a drawing is narrow enough for a small screen.
  const width = Math.max(WIDTH, longest * CHARACTER)
  const { place } = linearAxis([greatest], 0, width - RIGHT)
  const drawn = rows.map(({ side, opsPerSecond, spread }, i) => {
    const middle = i * ROW + 25
    const [low, high] = spread.opsPerSecond
    const title = titleOf(side)
    return markup`<g class="${classOf(side)}"><title>${title}: ${formatNumber(opsPerSecond)}, ${formatNumber(low)} to ${formatNumber(high)}</title>
<text class="soft" x="0" y="${middle - 11}">${title}</text>
<rect x="0" y="${middle - BAR / 2}" width="${tenth(Math.max(1, place(opsPerSecond)))}" height="${BAR}" rx="2"/>
<path class="spread" d="M${place(low)} ${middle}H${place(high)}"/><text x="${tenth(place(high) + 6)}" y="${middle + 4}">${shortNumber(opsPerSecond)}</text></g>`
  })
  return drawing({ width, height: rows.length * ROW, label }, drawn)
}
