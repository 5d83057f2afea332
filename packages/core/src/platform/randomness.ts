/** Randomness as a port, so that a simulation can be repeated from its seed. */
export interface Randomness {
  /** Returns a number from 0 (inclusive) to 1 (exclusive), for pauses and for choices in which processes should differ. */
  next(): number
  /** Returns a unique UUID, to name a worker or a piece of work. */
  uuid(): string
}

export const systemRandomness: Randomness = { next: () => Math.random(), uuid: () => crypto.randomUUID() }
