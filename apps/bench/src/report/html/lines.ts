import {
  drawing,
  linearAxis,
  linePath,
  logAxis,
  markup,
  rules,
  tenth,
  type Html,
  type Point,
} from '@looseleaf/console/kit'
import { formatNumber, shortNumber } from '../numbers.ts'
import type { Measured } from '../results.ts'
import { titleOf } from '../titles.ts'
import { classOf } from './style.ts'

export interface Line {
  readonly side: Measured
  readonly points: readonly Point[]
}

export interface LinesOptions {
  readonly label: string
  readonly x: string
  readonly y: string
  /** Default: logarithmic. */
  readonly xScale?: 'linear'
  /** More points that the axes have to cover, so that two drawings can be compared. */
  readonly besides?: readonly Point[]
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
  { label, x, y, xScale, besides = [], marked, isWide }: LinesOptions,
): Html {
  const width = isWide === true ? WIDE : WIDTH
  const points = [...all.flatMap((line) => line.points), ...besides]
  const xs = points.map(([value]) => value)
  const across = (xScale === 'linear' ? linearAxis : logAxis)(xs, LEFT, width - RIGHT)
  const up = logAxis(
    points.map(([, value]) => value),
    HEIGHT - BOTTOM,
    TOP,
  )
  // An axis with few values labels these instead of round numbers.
  const different = [...new Set(xs)].toSorted((a, b) => a - b)
  const named = xScale !== 'linear' && different.length <= 6 ? different : across.ticks
  const drawn = all.map((line) => {
    const title = titleOf(line.side)
    const radius = line.points.length > 12 ? 2 : 3
    const dots = line.points.map(
      ([px, py]) =>
        markup`<circle cx="${across.place(px)}" cy="${up.place(py)}" r="${radius}"><title>${title}: ${formatNumber(py)} at ${formatNumber(px)}</title></circle>`,
    )
    return markup`<g class="${classOf(line.side)}"><title>${title}</title><path d="${linePath(line.points, across, up)}"/>${dots}</g>`
  })
  const band =
    marked &&
    markup`<rect class="marked" x="${across.place(marked[0])}" y="${TOP}" width="${tenth(Math.max(2, across.place(marked[1]) - across.place(marked[0])))}" height="${HEIGHT - BOTTOM - TOP}"/>`
  return drawing(
    { width, height: HEIGHT, label, kind: 'plot' },
    band,
    rules(up, [LEFT, width - RIGHT], shortNumber),
    named.map(
      (tick) =>
        markup`<text class="soft" x="${across.place(tick)}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle">${shortNumber(tick)}</text>`,
    ),
    markup`<text class="soft" x="${LEFT - 40}" y="15">${y} (logarithmic)</text><text class="soft" x="${width - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">${xScale === 'linear' ? x : `${x} (logarithmic)`}</text>`,
    drawn,
  )
}
