/**
 * True in a long run, LOOSELEAF_LONG=1: searches, models and attacks on servers run whole. In a short run each of them runs
 * enough to notice that it is broken, and the parts that need no more than a second.
 */
export const isLong: boolean = process.env['LOOSELEAF_LONG'] === '1'

/** All of the items in a long run, the first `count` in a short one. */
export function someOf<T>(items: readonly T[], count: number): readonly T[] {
  return isLong ? items : items.slice(0, count)
}
