export interface Random {
  /** Returns a number from 0 up to, not including, 1. */
  next(): number
  /** Returns an integer from 0 up to, not including, `end`. */
  below(end: number): number
  chance(probability: number): boolean
  /** Picks an item. Throws a RangeError if there is none. */
  pick<T>(items: readonly T[]): T
  /** Returns a UUID of version 4. */
  uuid(): string
}

/**
 * Creates a generator that gives the same pseudorandom numbers for the same seed. 32 bits of state: good
 * enough to choose test cases.
 */
export declare function createRandom(seed: number): Random
