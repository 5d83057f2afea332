import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '@looseleaf/console'
import { timeText } from '@looseleaf/console/kit'
import type { CleanerControl } from '../domain/site/site.ts'

/** Milliseconds for which a cleaner is held. */
export const HOLD_MS = 60_000

/** Stops the cleaner, and starts it again after `ms` or when the signal aborts. */
export async function holdCleaner(
  cleaner: CleanerControl,
  ms: number,
  { signal, showProgress, setOutcome }: ActContext,
): Promise<void> {
  try {
    await cleaner.stop()
    showProgress(`it starts again at ${timeText(new Date(Date.now() + ms))}`)
    // An early end is not an error.
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  } finally {
    await cleaner.start()
  }
  setOutcome('Ended; it runs again.')
}
