import { platformTime } from '@looseleaf/core'
/**
 * A statement of SQLite holds its process up for as long as it takes. When statements have taken so long in one turn of the event loop, the
 * others go to the next, so that requests, timers and sockets have theirs between.
 */
const TURN_MS = 10

/** Of the turn in which statements run now, for all files of the process. */
let beganAt: number | undefined

/** Resolves in a later turn, one that has time left for a statement. */
export async function nextTurn(): Promise<void> {
  do await new Promise((resolve) => platformTime.setImmediate(resolve))
  while (beganAt !== undefined && platformTime.elapsed() - beganAt > TURN_MS)
  if (beganAt !== undefined) return
  beganAt = platformTime.elapsed()
  // It comes before what waits for the next turn, and after the last one of this.
  platformTime.setImmediate(() => (beganAt = undefined))
}
