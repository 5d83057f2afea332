import { platformTime } from '@looseleaf/core/internal'

/**
 * Milliseconds that statements may take in one turn of the event loop, for all files together. A statement of SQLite blocks the process,
 * so further ones wait for the next turn, and requests, timers and sockets run between.
 */
const TURN_MS = 10

/** Start of the turn in which statements run now. */
let beganAt: number | undefined

/** Resolves in a later turn that has time left for a statement. */
export async function nextTurn(): Promise<void> {
  do await new Promise((resolve) => platformTime.setImmediate(resolve))
  while (beganAt !== undefined && platformTime.elapsed() - beganAt > TURN_MS)
  if (beganAt !== undefined) return
  beganAt = platformTime.elapsed()
  // This callback runs after the last statement of this turn, and before the first of the next.
  platformTime.setImmediate(() => (beganAt = undefined))
}
