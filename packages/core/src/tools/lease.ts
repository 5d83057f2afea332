/**
 * Longest lease of a task, in milliseconds. A lease that ends later than twice this from now comes from a clock that was
 * ahead, so it counts as expired.
 */
export const MAX_LEASE_MS = 300_000
