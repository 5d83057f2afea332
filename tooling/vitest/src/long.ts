/**
 * True in a long run (LOOSELEAF_LONG=1), which runs searches, models and fault scenarios completely. A short
 * run runs enough of each to notice that it is broken, and everything that takes less than a second.
 */
export const isLong: boolean = process.env['LOOSELEAF_LONG'] === '1'

/** Returns all items in a long run, the first `count` in a short one. */
export function someOf<T>(items: readonly T[], count: number): readonly T[] {
  return isLong ? items : items.slice(0, count)
}

/** Returns how many random cases a property is tried on: all in a long run, a third in a short one. */
export function runsOf(all: number): number {
  return isLong ? all : Math.ceil(all / 3)
}
