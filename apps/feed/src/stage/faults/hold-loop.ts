import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '@looseleaf/console'
import { timeText } from '@looseleaf/console/kit'
import type { LoopControl } from '../../domain/site/loop.ts'

/** Milliseconds for which a loop is held. */
export const HOLD_MS = 60_000
/** Milliseconds between two texts about what waits for a held loop. */
const LOOK_MS = 1_000

/**
 * Stops a loop of this process, and starts it again after `ms` or when the signal aborts. Shows what waits for it meanwhile, as `waiting`
 * tells.
 */
export async function holdLoop(
  loop: LoopControl,
  ms: number,
  { signal, showProgress, setOutcome }: ActContext,
  waiting: () => Promise<string> = async () => '',
): Promise<void> {
  const end = Date.now() + ms
  const until = timeText(new Date(end))
  try {
    await loop.stop()
    while (!signal.aborted && Date.now() < end) {
      // The store may be held or broken too.
      const others = await waiting().catch(() => '')
      showProgress(`the loop starts again at ${until}${others === '' ? '' : `; ${others}`}`)
      // A timer may fire within the millisecond before its time. An early end is not an error.
      const rest = Math.min(LOOK_MS, end - Date.now() + 1)
      await sleep(rest, undefined, { signal, ref: false }).catch(() => {})
    }
  } finally {
    await loop.start()
  }
  setOutcome('Ended; it runs again.')
}
