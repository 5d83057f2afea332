/** Chance as a port, so that a simulation can be played once more from its seed. */
export interface Randomness {
  /** A number from 0 up to 1, which is not among them: for pauses, and for what two processes should not choose alike. */
  next(): number
  /** A UUID that nobody else has: the name of a worker, or of a piece of work. */
  uuid(): string
}

/** The machine's own. */
export const systemRandomness: Randomness = { next: () => Math.random(), uuid: () => crypto.randomUUID() }
