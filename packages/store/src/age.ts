import { elapsedBy, type Time } from '@looseleaf/core'

/**
 * Tells when so many milliseconds have passed since now, and rather too early: by a clock that nobody sets, and by the
 * machine's, which goes on while the machine sleeps. One that was set back says nothing.
 */
export function createAge(time: Time, milliseconds: number): () => boolean {
  const elapsed = elapsedBy(time)
  const from = elapsed()
  const wallFrom = time.now()
  return () => {
    const wall = time.now() - wallFrom
    return elapsed() - from >= milliseconds || wall >= milliseconds || wall < 0
  }
}
