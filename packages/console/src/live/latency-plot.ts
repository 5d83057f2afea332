import { markup, type Html } from '../html.ts'
import { milliseconds, timeText } from '../text.ts'
import { LATENCY_SECONDS, type LatencyOfSecond } from './latencies.ts'

/** Something that has happened, on the plot. */
export interface Mark {
  readonly at: Date
  readonly label: string
}

const WIDTH = 1000
const LEFT = 72
const RIGHT = 924
const TOP = 78
const BOTTOM = 346
/** Labels of marks stand in so many rows, so that those of neighbours do not meet. */
const LABEL_ROWS = 4
const ROWS = Array.from({ length: LABEL_ROWS }, (_, row) => row)
/** Of a character of a label, at the most on the average. */
const CHARACTER = 7.5
/** Seconds that it shows at the least, and between two times of its scale. */
const LEAST_SPAN = 60
const STEPS = [10, 30]

/** Less has no place on the scale; a clock that is coarse says 0. */
const atLeast = (ms: number): number => Math.max(ms, 0.001)

/** The latency of calls in the last minutes, by the second, on a logarithmic scale, with a line for each mark. */
export function latencyPlot(seconds: readonly LatencyOfSecond[], marks: readonly Mark[], now: number): Html {
  const end = now / 1000
  const span = Math.min(LATENCY_SECONDS, Math.max(LEAST_SPAN, end - (seconds[0]?.second ?? end)))
  const x = (second: number): string => (RIGHT - ((end - second) / span) * (RIGHT - LEFT)).toFixed(1)
  const values = seconds.flatMap(({ p50Ms, maxMs }) => [p50Ms, maxMs]).map(atLeast)
  const low = Math.floor(Math.log10(Math.min(...values, 1)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values, 1))))
  const y = (ms: number): string =>
    (BOTTOM - ((Math.log10(atLeast(ms)) - low) / (high - low)) * (BOTTOM - TOP)).toFixed(1)

  const decades = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const isNext = (i: number): boolean => seconds[i - 1]?.second === (seconds[i]?.second ?? 0) - 1
  const line = (of: 'p50Ms' | 'p99Ms'): string =>
    seconds.map((one, i) => `${isNext(i) ? 'L' : 'M'}${x(one.second)} ${y(one[of])}`).join('')
  // A second between two without calls is on no line.
  const alone = seconds.filter((_, i) => !isNext(i) && !isNext(i + 1))
  const dots = (some: readonly LatencyOfSecond[], of: 'p50Ms' | 'p99Ms' | 'maxMs'): string =>
    some.map((one) => `M${x(one.second)} ${y(one[of])}h.1`).join('')
  const crosses = seconds
    .filter(({ failures }) => failures.size > 0)
    .map(({ second }) => `M${x(second)} ${BOTTOM}m-4 -4l8 8m0 -8l-8 8`)
    .join('')
  const shown = marks.filter(({ at }) => at.getTime() / 1000 > end - span)
  const step = STEPS.find((one) => span / one <= 6) ?? 60
  const ticks = Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => i * step)

  return markup`<svg class="plot" viewBox="0 0 ${WIDTH} ${BOTTOM + 32}" role="img" aria-label="${labelOf(seconds, shown)}">
${decades.map((ms) => markup`<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${y(ms)}" y2="${y(ms)}"/><text class="soft" x="${LEFT - 8}" y="${Number(y(ms)) + 4}" text-anchor="end">${scaleText(ms)}</text><text class="soft" x="${RIGHT + 8}" y="${Number(y(ms)) + 4}">${scaleText(ms)}</text>`)}
${ticks.map((ago) => markup`<text class="soft" x="${x(end - ago)}" y="${BOTTOM + 22}" text-anchor="${ago === 0 ? 'end' : 'middle'}">${agoText(ago)}</text>`)}
<path class="own dots" d="${dots(seconds, 'maxMs')}"/><path class="entities" d="${line('p99Ms')}"/><path class="index" d="${line('p50Ms')}"/>
<path class="entities alone" d="${dots(alone, 'p99Ms')}"/><path class="index alone" d="${dots(alone, 'p50Ms')}"/><path class="failed" d="${crosses}"/>
${markLines(shown, (at) => Number(x(at.getTime() / 1000)))}</svg>`
}

interface PlacedMark extends Mark {
  readonly x: number
  /** Whether its label stands to the left of its line. */
  readonly isLeft: boolean
  /** Of its label: 0 is the uppermost, LABEL_ROWS, below them all, stands for none. Its line begins there. */
  readonly row: number
  /** Where its label begins and ends. */
  readonly from: number
  readonly to: number
}

/**
 * A line for each mark, from its label down, and its label in the first row where no other label is and no line is crossed, its own
 * included; where there is none, pointing at the line tells.
 */
function markLines(marks: readonly Mark[], xOf: (at: Date) => number): Html[] {
  const placed: PlacedMark[] = []
  // The newest are of most interest, so these have their labels first.
  for (const mark of marks.toReversed()) {
    const x = xOf(mark.at)
    const length = 5 + mark.label.length * CHARACTER
    const isLeft = x - length > LEFT
    const [from, to] = isLeft ? [x - length, x] : [x, x + length]
    const row = ROWS.find((one) =>
      placed.every(
        (other) =>
          (other.row !== one || to < other.from || from > other.to) &&
          // The lines of labels above, and those that this line would meet below.
          (other.row > one || other.x <= from || other.x >= to) &&
          (other.row <= one || other.row === LABEL_ROWS || x <= other.from || x >= other.to),
      ),
    )
    placed.push({ ...mark, x, isLeft, row: row ?? LABEL_ROWS, from, to })
  }
  return placed.map(markLine)
}

function markLine({ at, label, x, isLeft, row }: PlacedMark): Html {
  const y = 16 + row * 16
  const text = markup`<text x="${isLeft ? x - 5 : x + 5}" y="${y}" text-anchor="${isLeft ? 'end' : 'start'}">${label}</text>`
  return markup`<g class="mark"><title>${label}, ${timeText(at)}</title><line x1="${x}" x2="${x}" y1="${y - 10}" y2="${BOTTOM}"/>${row === LABEL_ROWS ? undefined : text}</g>`
}

function labelOf(seconds: readonly LatencyOfSecond[], marks: readonly Mark[]): string {
  const last = seconds.at(-1)
  const now =
    last === undefined
      ? 'no calls in the last five minutes'
      : `in the last second with calls p50 ${milliseconds(last.p50Ms)}, p99 ${milliseconds(last.p99Ms)}, longest ${milliseconds(last.maxMs)}`
  const acts = marks.map(({ at, label }) => `${label} at ${timeText(at)}`).join(', ')
  return `Latency of calls by the second: ${now}. ${acts === '' ? 'No marks' : `Marks: ${acts}`}.`
}

/** `now`, `30 s ago`, `2.5 min ago`. */
function agoText(seconds: number): string {
  if (seconds === 0) return 'now'
  return seconds >= 60 ? `${seconds / 60} min ago` : `${seconds} s ago`
}

/** `10 µs`, `1 ms`, `1 s`. */
function scaleText(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`
}
