import type { Pace } from '../src/clean/pace.ts'

/** A pace for tests that do not depend on it. */
export const pace: Pace = { savedAt: 1, worker: 'host:1', rate: 10, throttledBy: undefined, waited: 0 }
