/** Of values from the least to the greatest; rounded, and 0 where there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}
