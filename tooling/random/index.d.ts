export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number
  chance(probability: number): boolean
  /** Throws a RangeError where there is nothing to pick from. */
  pick<T>(items: readonly T[]): T
  /** A UUID of version 4. */
  uuid(): string
}

/** Numbers that look random and are the same for the same seed: 32 bits of state, good enough to choose test cases. */
export declare function createRandom(seed: number): Random
