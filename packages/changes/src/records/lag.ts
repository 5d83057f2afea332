/** A floor is raised to just above the time, so a place this far ahead of the clock is no sign of a wrong one, in µs. */
const AHEAD_MICROS = 1_000_000

/**
 * Age of a place, in milliseconds; both are in µs by the clock of the shard. `Infinity` at the beginning. Undefined where the place
 * is ahead of the clock: the floor was raised by a clock that was ahead, and the time of writing is not known.
 */
export function lagOf(updated: number, now: number): number | undefined {
  if (updated === 0) return Infinity
  return updated > now + AHEAD_MICROS ? undefined : Math.max(0, now - updated) / 1_000
}
