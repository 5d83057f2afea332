/**
 * True in a long run (LOOSELEAF_LONG=1), which runs searches, models and fault scenarios completely. A short
 * run runs enough of each to notice that it is broken, and everything that takes less than a second.
 */
export const isLong: boolean = process.env['LOOSELEAF_LONG'] === '1'

/** Returns all items in a long run, the first `count` in a short one. */
export function someOf<T>(items: readonly T[], count: number): readonly T[] {
  return isLong ? items : items.slice(0, count)
}
