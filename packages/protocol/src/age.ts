import type { Time } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'

/**
 * Returns a check whether this many milliseconds have passed, by either of two clocks: a monotonic one, and the machine's, which also runs
 * while the machine sleeps. If they differ, the check is true too early rather than too late.
 */
export function createAge(time: Time, milliseconds: number): () => boolean {
  const elapsed = elapsedBy(time)
  const until = elapsed() + milliseconds
  const wallUntil = time.now() + milliseconds
  return () => elapsed() >= until || time.now() >= wallUntil
}

/** Does the same, and is also true if the machine's clock was set back. */
export function createCarefulAge(time: Time, milliseconds: number): () => boolean {
  const wallFrom = time.now()
  const isOver = createAge(time, milliseconds)
  return () => isOver() || time.now() < wallFrom
}
