import { setTimeout as sleep } from 'node:timers/promises'

/** Looks until it holds, or for so long; answers whether it held. */
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
