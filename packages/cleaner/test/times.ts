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

/** Time that stands still until it is moved on: sleeps last until then. */
export interface SteppedTime extends Time {
  /** Ends the sleeps that are over by then, and lets those who slept have their turns. */
  step(milliseconds: number): Promise<void>
}

export function steppedTime(): SteppedTime {
  let now = Date.now()
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>()
  return {
    now: () => now,
    async sleep(milliseconds, signal) {
      if (signal?.aborted) throw abortedError(signal)
      await new Promise<void>((resolve) => {
        const sleeper = { until: now + milliseconds, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => resolve(), { once: true })
      })
      if (signal?.aborted) throw abortedError(signal)
    },
    async step(milliseconds) {
      now += milliseconds
      for (const sleeper of sleepers) {
        if (sleeper.until > now) continue
        sleepers.delete(sleeper)
        sleeper.wake()
      }
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** Lets everything else have its turn until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
