import {
  drawing,
  linePath,
  logAxis,
  markup,
  milliseconds,
  rules,
  tenth,
  timeText,
  type Html,
} from '@looseleaf/console/kit'
import { LATENCY_SECONDS, type LatencyOfSecond } from './latencies.ts'

/** An event on the plot. */
export interface Mark {
  readonly at: Date
  readonly label: string
}

const WIDTH = 1000
const LEFT = 72
const RIGHT = 924
const TOP = 78
const BOTTOM = 346
/** Number of rows for the labels of marks, so that labels of neighbours do not overlap. */
const LABEL_ROWS = 4
const ROWS = Array.from({ length: LABEL_ROWS }, (_, row) => row)
/** Upper bound of the average width of a character in a label. */
const CHARACTER = 7.5
/** Smallest span of the plot in seconds. */
const LEAST_SPAN = 60
/** Distances between two times on the scale in seconds, the smallest that fits. */
const STEPS = [10, 30]

/** Raises a duration to the smallest one on the logarithmic scale. A coarse clock may measure 0. */
const atLeast = (ms: number): number => Math.max(ms, 0.001)

/** Draws the latency of calls per second over the last minutes on a logarithmic scale, with a line for each mark. */
export function latencyPlot(seconds: readonly LatencyOfSecond[], marks: readonly Mark[], now: number): Html {
  const end = now / 1000
  const span = Math.min(LATENCY_SECONDS, Math.max(LEAST_SPAN, end - (seconds[0]?.second ?? end)))
  const x = { place: (second: number) => tenth(RIGHT - ((end - second) / span) * (RIGHT - LEFT)) }
  const values = seconds.flatMap(({ p50Ms, maxMs }) => [p50Ms, maxMs]).map(atLeast)
  const low = Math.floor(Math.log10(Math.min(...values, 1)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values, 1))))
  const decades = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const y = { ...logAxis(decades, BOTTOM, TOP), ticks: decades }
  const pointsOf = (some: readonly LatencyOfSecond[], of: 'p50Ms' | 'p99Ms' | 'maxMs') =>
    some.map((each) => [each.second, atLeast(each[of])] as const)

  const isNext = (i: number): boolean => seconds[i - 1]?.second === (seconds[i]?.second ?? 0) - 1
  const line = (of: 'p50Ms' | 'p99Ms'): string => linePath(pointsOf(seconds, of), x, y, isNext)
  // A second between two seconds without calls has no line, so it gets a dot.
  const alone = seconds.filter((_, i) => !isNext(i) && !isNext(i + 1))
  const dots = (some: readonly LatencyOfSecond[], of: 'p50Ms' | 'p99Ms' | 'maxMs'): string =>
    pointsOf(some, of)
      .map((point) => `${linePath([point], x, y)}h.1`)
      .join('')
  const crosses = seconds
    .filter(({ failures }) => failures.size > 0)
    .map(({ second }) => `M${x.place(second)} ${BOTTOM}m-4 -4l8 8m0 -8l-8 8`)
    .join('')
  const shown = marks.filter(({ at }) => at.getTime() / 1000 > end - span)
  return drawing(
    { width: WIDTH, height: BOTTOM + 32, label: labelOf(seconds, shown), kind: 'plot' },
    rules(y, [LEFT, RIGHT], scaleText, true),
    ticksOf(span).map(
      (ago) =>
        markup`<text class="soft" x="${x.place(end - ago)}" y="${BOTTOM + 22}" text-anchor="${ago === 0 ? 'end' : 'middle'}">${agoText(ago)}</text>`,
    ),
    markup`<path class="own dots" d="${dots(seconds, 'maxMs')}"/><path class="entities" d="${line('p99Ms')}"/><path class="index" d="${line('p50Ms')}"/>
<path class="entities alone" d="${dots(alone, 'p99Ms')}"/><path class="index alone" d="${dots(alone, 'p50Ms')}"/><path class="failed" d="${crosses}"/>`,
    markLines(shown, (at) => x.place(at.getTime() / 1000)),
  )
}

/** Returns the labelled times of a span, in seconds before now. */
function ticksOf(span: number): number[] {
  const step = STEPS.find((distance) => span / distance <= 6) ?? 60
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => i * step)
}

interface PlacedMark extends Mark {
  readonly x: number
  /** True if its label is to the left of its line. */
  readonly isLeft: boolean
  /** Row of its label from 0 at the top. LABEL_ROWS stands for no label. Its line starts at this row. */
  readonly row: number
  /** Left and right end of its label. */
  readonly from: number
  readonly to: number
}

/**
 * Draws a line for each mark, from its label down. A label goes to the first row where it overlaps no other label and where no
 * label crosses a line. If there is no such row, only the tooltip of the line has the label.
 */
function markLines(marks: readonly Mark[], xOf: (at: Date) => number): Html[] {
  const placed: PlacedMark[] = []
  // The newest marks are the most interesting, so they are placed first.
  for (const mark of marks.toReversed()) {
    const x = xOf(mark.at)
    const length = 5 + mark.label.length * CHARACTER
    const isLeft = x - length > LEFT
    const [from, to] = isLeft ? [x - length, x] : [x, x + length]
    const freeRow = ROWS.find((row) =>
      placed.every(
        (other) =>
          (other.row !== row || to < other.from || from > other.to) &&
          // No line of a higher label crosses this label, and this line crosses no lower label.
          (other.row > row || other.x <= from || other.x >= to) &&
          (other.row <= row || other.row === LABEL_ROWS || x <= other.from || x >= other.to),
      ),
    )
    placed.push({ ...mark, x, isLeft, row: freeRow ?? LABEL_ROWS, from, to })
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

/** Returns a text such as `now`, `30 s ago` or `2.5 min ago`. */
function agoText(seconds: number): string {
  if (seconds === 0) return 'now'
  return seconds >= 60 ? `${seconds / 60} min ago` : `${seconds} s ago`
}

/** Returns a text such as `10 µs`, `1 ms` or `1 s`. */
function scaleText(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`
}
