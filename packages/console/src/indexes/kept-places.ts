import { randomBytes } from 'node:crypto'
import type { InspectedIndexRows } from '@looseleaf/store/internal'

export type Place = NonNullable<InspectedIndexRows['next']>

/** Largest number of kept places, of all users together. */
const MAX_PLACES = 1000

/**
 * Keeps places in indexes for links to further rows. A place contains the values of an index row, which may be secret, so the
 * link has a random word instead.
 */
export interface KeptPlaces {
  /**
   * Returns the word for a place. `scope` is the table and its shard. A word is only valid in its scope: in another table it
   * would reveal the values that follow a hidden one.
   */
  keep(scope: string, place: Place): string
  find(scope: string, word: string): Place | undefined
}

export function createKeptPlaces(): KeptPlaces {
  const kept = new Map<string, { readonly scope: string; readonly place: Place }>()
  return {
    keep(scope, place) {
      const word = randomBytes(9).toString('base64url')
      kept.set(word, { scope, place })
      if (kept.size > MAX_PLACES) kept.delete(kept.keys().next().value as string)
      return word
    },
    find(scope, word) {
      const found = kept.get(word)
      return found?.scope === scope ? found.place : undefined
    },
  }
}
