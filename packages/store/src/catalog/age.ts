import { LooseleafError, type Time } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'

/**
 * Returns a check whether this many milliseconds have passed, by either of two clocks: a monotonic one, and the machine's, which also runs
 * while the machine sleeps. If they differ, the check is true too early rather than too late.
 */
export function createAge(time: Time, milliseconds: number): () => boolean {
  const elapsed = elapsedBy(time)
  const from = elapsed()
  const wallFrom = time.now()
  return () => elapsed() - from >= milliseconds || time.now() - wallFrom >= milliseconds
}

/** Does the same, and is also true if the machine's clock was set back. */
export function createCarefulAge(time: Time, milliseconds: number): () => boolean {
  const isOld = createAge(time, milliseconds)
  const from = time.now()
  return () => isOld() || time.now() < from
}

/** Makes the error of a read of all matches that took longer than lost rows are kept. */
export function tookTooLong(index: string, queryTimeMs: number): LooseleafError {
  return new LooseleafError(
    'DEADLINE',
    `Index ${index}: reading took longer than ${queryTimeMs} ms (queryTimeMs), so entities that have moved may be missing. Read page by page, each with the cursor of the page before.`,
  )
}
