import { afterAll, afterEach, beforeEach, type TaskMeta } from 'vitest'
import { PROBES } from './probes-global.ts'

// A setup file of the tests while it is found out which statements each of them runs: the answer goes with the results.

declare module 'vitest' {
  interface TaskMeta {
    probes?: number[]
  }
}

const shared = globalThis as unknown as Record<string, Set<number> | undefined>
/** What runs outside of any test, before the first or late: it may concern all of the file. */
const outside = new Set<number>()
shared[PROBES] = outside
let meta: TaskMeta = {}

beforeEach(({ task }) => {
  meta = task.file.meta
  const own = new Set<number>()
  shared[PROBES] = own
  return () => {
    task.meta.probes = [...own]
  }
})

afterEach(() => {
  // What a test has begun and not waited for is not lost.
  shared[PROBES] = outside
})

afterAll(() => {
  meta.probes = [...outside]
})
