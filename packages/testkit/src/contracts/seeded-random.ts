/** A generator of pseudorandom values, the same in every run. */
export interface SeededRandom {
  integer(below: number): number
  pick<T>(choices: readonly T[]): T
  bytes(length: number): Uint8Array
}

/** Creates a 32-bit xorshift generator, which is good enough to choose test cases only. */
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
