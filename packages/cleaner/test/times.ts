import { abortedError, type Time } from '@looseleaf/core'

/** Time in which every sleep is over at once, and has lasted as long as it was to. */
export interface LeapingTime extends Time {
  readonly slept: number
  leap(milliseconds: number): void
}

export function leapingTime(): LeapingTime {
  // Only sleeps and leaps move it, so that a test's numbers do not depend on the machine.
  let now = Date.now()
  let slept = 0
  return {
    get slept() {
      return slept
    },
    now: () => now,
    leap(milliseconds) {
      now += milliseconds
    },
    async sleep(milliseconds, signal) {
      if (signal?.aborted) throw abortedError(signal)
      now += milliseconds
      slept += milliseconds
      await new Promise((resolve) => setImmediate(resolve))
      if (signal?.aborted) throw abortedError(signal)
    },
  }
}

/** Lets everything else have its turn until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
