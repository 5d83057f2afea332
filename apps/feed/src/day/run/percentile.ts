/** Returns the smallest value that at least this share of the values does not exceed; 0 for no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

/** Rounds milliseconds to a tenth. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
