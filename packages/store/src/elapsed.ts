import { systemTime, type Time } from '@looseleaf/core'

/** Milliseconds that pass, from no moment in particular: of the machine's own time by a clock that nobody sets. */
export function elapsedBy(time: Time): () => number {
  return time === systemTime ? () => performance.now() : () => time.now()
}
