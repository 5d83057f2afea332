import { setTimeout as wait } from 'node:timers/promises'
import type { Time } from '@looseleaf/core'
import { abortedError } from '@looseleaf/core/internal'

/**
 * A time whose sleeps end at once and advance it by their length. No time passes for processes with another one: a move or a removal of a
 * shard ends before they notice it, and their reads may rely on what they knew before.
 */
export interface LeapingTime extends Time {
  readonly slept: number
  leap(milliseconds: number): void
}

export function leapingTime(): LeapingTime {
  // Only sleeps and leaps advance the time, so that results do not depend on the machine.
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

/** A time that only `step` advances. */
export interface SteppedTime extends Time {
  /** Advances the time, ends the sleeps that are over, and lets the sleepers run. */
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

/** Returns a time whose waits take a fraction of their length. All processes of one store have to use the same. */
export function fastTime(factor: number): Time {
  return {
    now: Date.now,
    elapsed: () => performance.now() * factor,
    sleep: async (milliseconds, signal) => {
      await wait(milliseconds / factor, undefined, { signal })
    },
  }
}

/** Yields to other work until a condition holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
