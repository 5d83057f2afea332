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
  /** `where`: the table and its shard. A word is good there and nowhere else, since it would tell which values lie behind a hidden one. */
  keep(where: string, place: Place): string
  find(where: string, word: string): Place | undefined
}

export function createKeptPlaces(): KeptPlaces {
  const kept = new Map<string, { readonly where: string; readonly place: Place }>()
  return {
    keep(where, place) {
      const word = randomBytes(9).toString('base64url')
      kept.set(word, { where, place })
      if (kept.size > MOST) kept.delete(kept.keys().next().value as string)
      return word
    },
    find(where, word) {
      const found = kept.get(word)
      return found?.where === where ? found.place : undefined
    },
  }
}
