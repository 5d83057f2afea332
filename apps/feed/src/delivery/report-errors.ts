import { isOutage } from '../domain/site/partial-reads.ts'

/** Milliseconds until the same outage is reported again. */
const AGAIN_MS = 60_000

/**
 * Returns a function that reports errors of deliveries, all of which are retried. An outage comes back with every retry, so it is reported by its message,
 * once a minute.
 */
export function reportErrors(
  report: (error: unknown) => void,
  now: () => number = Date.now,
): (error: unknown) => void {
  const reported = new Map<string, number>()
  return (error) => {
    if (!isOutage(error)) return report(error)
    const { message } = error
    if (now() - (reported.get(message) ?? -Infinity) < AGAIN_MS) return
    // Messages may name ids.
    if (reported.size === 100) reported.clear()
    reported.set(message, now())
    report(message)
  }
}
