/** Tolerance in µs: raising a floor puts it just above the current time, so a place may be slightly ahead of a correct clock. */
const AHEAD_MICROS = 1_000_000

/**
 * Returns the age of a place in whole milliseconds. Both arguments are in µs by the clock of the shard. Returns `Infinity` for the beginning, and
 * undefined for a place ahead of the clock: an earlier clock that was ahead raised the floor, so the time of writing is unknown.
 */
export function lagOf(updated: number, now: number): number | undefined {
  if (updated === 0) return Infinity
  return updated > now + AHEAD_MICROS ? undefined : Math.round(Math.max(0, now - updated) / 1_000)
}
