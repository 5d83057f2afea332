import { randomBytes } from 'node:crypto'
import type { InspectedIndexRows } from '@looseleaf/store'

export type Place = NonNullable<InspectedIndexRows['next']>

/** So many are kept, of all readers together. */
const MOST = 1000

/**
 * Places in indexes that addresses lead to. They are kept here, because they hold the values of index rows, which may be secret: the
 * address has a random word.
 */
export interface KeptPlaces {
  keep(place: Place): string
  find(word: string): Place | undefined
}

export function createKeptPlaces(): KeptPlaces {
  const kept = new Map<string, Place>()
  return {
    keep(place) {
      const word = randomBytes(9).toString('base64url')
      kept.set(word, place)
      if (kept.size > MOST) kept.delete(kept.keys().next().value as string)
      return word
    },
    find: (word) => kept.get(word),
  }
}
