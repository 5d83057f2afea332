/** Pseudorandom numbers that are the same for the same seed. */
export interface Dice {
  /** From 0 to 1, without 1. */
  next(): number
  /** A whole number from 0 up to this one, without it. */
  below(end: number): number
  pick<Item>(items: readonly Item[]): Item
  /** A whole number from 0 up to this one, without it. Small ones are more likely, as by Zipf's law. */
  low(end: number): number
}

/** Creates dice by the generator “mulberry32”, which is good enough to vary a script. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(next() * end)
  return {
    next,
    below,
    pick: (items) => items[below(items.length)]!,
    // The chance of a place falls about as 1 / (place + 1).
    low: (end) => Math.min(end - 1, Math.floor((end + 1) ** next()) - 1),
  }
}
