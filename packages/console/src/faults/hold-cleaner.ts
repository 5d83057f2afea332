import { platformTime } from '@looseleaf/core/internal'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '../acts/acts.ts'
import { timeText } from '../html/text.ts'

/** Stops and restarts the cleaner of this process, for the page `Break it`. */
export interface HeldCleaner {
  stop(): Promise<unknown>
  /** Called after each `stop`, also when the console is closed. Should do nothing once the application has stopped its cleaner for good. */
  start(): unknown
}

/** Milliseconds for which a cleaner is held. */
export const HOLD_MS = 60_000

/** Stops the cleaner, and starts it again after `ms` or when the signal aborts. */
export async function holdCleaner(
  cleaner: HeldCleaner,
  ms: number,
  { signal, showProgress, setOutcome }: ActContext,
): Promise<void> {
  try {
    await cleaner.stop()
    showProgress(`it starts again at ${timeText(new Date(platformTime.now() + ms))}`)
    // An early end is not an error.
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  } finally {
    await cleaner.start()
  }
  setOutcome('Ended; it runs again.')
}
