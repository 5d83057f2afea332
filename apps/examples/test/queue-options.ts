import type { QueueOptions } from '../src/queue/queue.ts'

/** The options of all processes of the test with workers that are killed. */
export const queueOptions: QueueOptions = { stripes: 4, leaseMs: 1_000, maxAttempts: 4, backOffMs: 50 }

/** A line of a worker's log. */
export interface Line {
  readonly step: 'begin' | 'done'
  readonly id: string
  readonly attempts: number
  /** Milliseconds since 1970; `due` is the end of the lease that the worker took. */
  readonly at: number
  readonly due: number
}
