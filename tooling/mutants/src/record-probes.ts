import { afterAll, afterEach, beforeEach, type TaskMeta } from 'vitest'
import { PROBES } from './probes-global.ts'

// A setup file that records which statements each test runs; the results carry the numbers.

declare module 'vitest' {
  interface TaskMeta {
    probes?: number[]
  }
}

const shared = globalThis as unknown as Record<string, Set<number> | undefined>
/** Statements that ran outside of any test, before the first or late. They may concern the whole file. */
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
  // Records work that a test has begun and not awaited.
  shared[PROBES] = outside
})

afterAll(() => {
  meta.probes = [...outside]
})
