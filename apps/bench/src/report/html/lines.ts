import { formatNumber, shortNumber } from '../numbers.ts'
import type { Measured } from '../results.ts'
import { titleOf } from '../titles.ts'
import { drawing, linearAxis, logAxis, tag, text } from './svg.ts'

export interface Line {
  readonly side: Measured
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface LinesOptions {
  readonly label: string
  readonly x: string
  readonly y: string
  /** Default: logarithmic. */
  readonly xScale?: 'linear'
  /** More values that the vertical axis has to cover, so that two drawings can be compared. */
  readonly besides?: readonly number[]
  /** The same for the horizontal axis. */
  readonly besidesAcross?: readonly number[]
  readonly isWide?: boolean
  /** Range of x to mark. */
  readonly marked?: readonly [number, number]
}

const WIDTH = 360
const WIDE = 620
const HEIGHT = 220
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 14, 24, 44]

/** Draws lines. The vertical axis is logarithmic, and the horizontal one unless `xScale` says otherwise. */
export function lines(
  all: readonly Line[],
  { label, x, y, xScale, besides = [], besidesAcross = [], marked, isWide }: LinesOptions,
): string {
  const width = isWide === true ? WIDE : WIDTH
  const points = all.flatMap((line) => line.points)
  const xs = points.map(([value]) => value)
  const across = (xScale === 'linear' ? linearAxis : logAxis)([...xs, ...besidesAcross], LEFT, width - RIGHT)
  const up = logAxis([...points.map(([, value]) => value), ...besides], HEIGHT - BOTTOM, TOP)
  // An axis with few values labels these instead of round numbers.
  const different = [...new Set(xs)].toSorted((a, b) => a - b)
  const named = xScale !== 'linear' && different.length <= 6 ? different : across.ticks
  const grid = up.ticks.map((tick) => {
    const at = up.place(tick)
    return (
      tag('path', { class: 'rule', d: `M${LEFT} ${at.toFixed(1)}H${width - RIGHT}` }) +
      text(LEFT - 6, at + 4, shortNumber(tick), { 'text-anchor': 'end' })
    )
  })
  const drawn = all.map((line) => {
    const path = line.points.map(([px, py]) => `${across.place(px).toFixed(1)} ${up.place(py).toFixed(1)}`)
    const dots = line.points.map(([px, py]) =>
      tag(
        'circle',
        { cx: across.place(px), cy: up.place(py), r: line.points.length > 12 ? 2 : 3 },
        tag('title', {}, `${titleOf(line.side)}: ${formatNumber(py)} at ${formatNumber(px)}`),
      ),
    )
    return tag(
      'g',
      { class: `side line ${line.side.replace(/\W/g, '-')}` },
      tag('title', {}, titleOf(line.side)),
      tag('path', { d: `M${path.join('L')}` }),
      ...dots,
    )
  })
  const band =
    marked &&
    tag('rect', {
      class: 'marked',
      x: across.place(marked[0]),
      y: TOP,
      width: Math.max(2, across.place(marked[1]) - across.place(marked[0])),
      height: HEIGHT - BOTTOM - TOP,
    })
  return drawing(
    width,
    HEIGHT,
    label,
    band ?? '',
    ...grid,
    ...named.map((tick) =>
      text(across.place(tick), HEIGHT - BOTTOM + 16, shortNumber(tick), { 'text-anchor': 'middle' }),
    ),
    text(LEFT - 40, 15, `${y} (logarithmic)`, { class: 'axis' }),
    text(width - RIGHT, HEIGHT - 6, xScale === 'linear' ? x : `${x} (logarithmic)`, {
      class: 'axis',
      'text-anchor': 'end',
    }),
    ...drawn,
  )
}
