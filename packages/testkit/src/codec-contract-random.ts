/** Random numbers that are the same in every run, so that a case that fails fails again. */
export interface SeededRandom {
  /** An integer from 0 to `below` - 1. */
  integer(below: number): number
  /** One of these. */
  pick<T>(choices: readonly T[]): T
  bytes(length: number): Uint8Array
}

/** A xorshift generator of 32 bits; good enough to choose test cases, and for nothing else. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 1
  const integer = (below: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
  return {
    integer,
    pick: <T>(choices: readonly T[]) => choices[integer(choices.length)] as T,
    bytes: (length) => Uint8Array.from({ length }, () => integer(256)),
  }
}
