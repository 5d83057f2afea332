export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Returns median, least and greatest value. Throws `RangeError` for no values. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('There are no values.')
  const sorted = values.toSorted((a, b) => a - b)
  return { median: percentile(sorted, 0.5), min: sorted[0] as number, max: sorted.at(-1) as number }
}

/** Returns the value at this share of the sorted values, interpolated between neighbours. Returns 0 for no values. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return 0
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] as number
  const above = sorted[Math.ceil(place)] as number
  return below + (above - below) * (place - Math.floor(place))
}
