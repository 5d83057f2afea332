import { setTimeout as sleep } from 'node:timers/promises'

/** Polls until the condition holds or the time is over; returns whether it held. */
export async function holdsWithin(
  milliseconds: number,
  holds: () => Promise<boolean> | boolean,
  betweenMs = 10,
): Promise<boolean> {
  const deadline = performance.now() + milliseconds
  for (;;) {
    if (await holds()) return true
    if (performance.now() > deadline) return false
    await sleep(betweenMs)
  }
}
