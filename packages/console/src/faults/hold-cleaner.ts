import { platformTime } from '@looseleaf/core'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Doing } from '../acts/acts.ts'
import { timeText } from '../text.ts'

/** The cleaner of this process, as the application stops it and starts it again. */
export interface HeldCleaner {
  stop(): Promise<unknown>
  /** Called after `stop`, also when the console is closed; does nothing where the application has ended its cleaner for good. */
  start(): unknown
}

/** How long a cleaner is held, in milliseconds. */
export const HOLD_MS = 60_000

/** Stops it and starts it again after `ms`, or when somebody ends that or the console is closed, whatever comes first. */
export async function holdCleaner(
  cleaner: HeldCleaner,
  ms: number,
  { signal, tell, came }: Doing,
): Promise<void> {
  try {
    await cleaner.stop()
    tell(`it goes on by itself at ${timeText(new Date(platformTime.now() + ms))}`)
    // Being ended early or closed is an end like another one.
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  } finally {
    await cleaner.start()
  }
  came('Ended; it goes on.')
}
