import { setTimeout as wait } from 'node:timers/promises'
import type { Time } from '@looseleaf/core'

/** A time whose waits take a fraction of their length. All processes of one store have to use the same. */
export function fastTime(factor: number): Time {
  return {
    now: Date.now,
    elapsed: () => performance.now() * factor,
    sleep: async (milliseconds, signal) => {
      await wait(milliseconds / factor, undefined, { signal })
    },
  }
}
