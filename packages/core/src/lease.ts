/**
 * Longest lease of a task, in milliseconds. A lease that ends later than twice this from now was given by a clock that
 * was ahead, so it counts as over.
 */
export const MAX_LEASE_MS = 300_000
