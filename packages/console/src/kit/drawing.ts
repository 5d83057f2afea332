import { markup, type Html } from './html.ts'

/** Renders a drawing that scales to the available width. `label` is for screen readers. */
export function drawing(
  { width, height, label, kind }: DrawingOptions,
  ...content: readonly (Html | undefined | readonly Html[])[]
): Html {
  return markup`<svg${kind === undefined ? undefined : markup` class="${kind}"`} viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
${content}</svg>`
}

export interface DrawingOptions {
  readonly width: number
  readonly height: number
  readonly label: string
  /** CSS class. Default: none. */
  readonly kind?: string
}

/** Rounds a coordinate to a tenth. */
export function tenth(value: number): number {
  return Number(value.toFixed(1))
}

export interface Axis {
  place(value: number): number
  readonly ticks: readonly number[]
}

/** Returns a logarithmic axis that covers all values, which are above 0, between two coordinates. */
export function logAxis(values: readonly number[], from: number, to: number): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const [a, b] = [Math.log10(low) - 0.03, Math.log10(high) + 0.03]
  const place = (value: number): number =>
    tenth(from + ((Math.log10(value) - a) / Math.max(b - a, 0.1)) * (to - from))
  const decades = Array.from(
    { length: Math.ceil(b) - Math.floor(a) + 1 },
    (_, i) => 10 ** (Math.floor(a) + i),
  )
  const ticksOf = (steps: readonly number[]): number[] =>
    decades
      .flatMap((decade) => steps.map((step) => step * decade))
      .filter((tick) => tick >= low * 0.95 && tick <= high * 1.05)
  const coarse = ticksOf([1])
  return { place, ticks: coarse.length > 2 ? coarse : ticksOf([1, 2, 5]) }
}

/** Returns a linear axis from 0 that covers all values, between two coordinates. */
export function linearAxis(values: readonly number[], from: number, to: number): Axis {
  const high = Math.max(...values, 1e-9)
  const step = 10 ** Math.floor(Math.log10(high))
  const fine = high / step < 2.5 ? step / 2 : high / step > 6 ? step * 2 : step
  const ticks = Array.from({ length: Math.floor(high / fine) + 1 }, (_, i) => i * fine)
  return { place: (value) => tenth(from + (value / high) * (to - from)), ticks }
}

export type Point = readonly [x: number, y: number]

/** Returns the path of a line through points. `isJoined` tells whether a point is joined to the one before it. */
export function linePath(
  points: readonly Point[],
  x: Pick<Axis, 'place'>,
  y: Pick<Axis, 'place'>,
  isJoined: (index: number) => boolean = (index) => index > 0,
): string {
  return points.map(([px, py], i) => `${isJoined(i) ? 'L' : 'M'}${x.place(px)} ${y.place(py)}`).join('')
}

/** Renders the horizontal lines of a plot, with their labels at the left, and also at the right if `isTwice`. */
export function rules(
  y: Axis,
  [left, right]: readonly [left: number, right: number],
  textOf: (value: number) => string,
  isTwice = false,
): Html[] {
  return y.ticks.map((tick) => {
    const at = y.place(tick)
    const label = (x: number, anchor: string): Html =>
      markup`<text class="soft" x="${x}" y="${at + 4}" text-anchor="${anchor}">${textOf(tick)}</text>`
    return markup`<path class="rule" d="M${left} ${at}H${right}"/>${label(left - 6, 'end')}${isTwice ? label(right + 6, 'start') : undefined}`
  })
}
