import type { Pace } from '../src/clean/pace.ts'

/** How some work goes, where it makes no difference how. */
export const pace: Pace = { savedAt: 1, worker: 'host:1', rate: 10, throttledBy: undefined, waited: 0 }
