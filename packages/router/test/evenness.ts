/**
 * Returns Pearson's chi-square of these counts against an even spread, in standard deviations above its mean. For many cells the statistic
 * is about normal, with mean k - 1 and variance 2(k - 1).
 */
export function unevenness(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const expected = total / counts.length
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  const freedom = counts.length - 1
  return (chiSquare - freedom) / Math.sqrt(2 * freedom)
}

/** Counts each number from 0 to `cells` - 1. */
export function countsOf(values: Iterable<number>, cells: number): number[] {
  const counts = Array.from({ length: cells }, () => 0)
  for (const value of values) counts[value]!++
  return counts
}
