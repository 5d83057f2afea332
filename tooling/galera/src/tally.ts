/** What callers have met. */
export interface Tally {
  acknowledged: number
  /** Writes that were reported as not done, by error code. */
  refused: Record<string, number>
  /** The first message of each. */
  readonly examples: Record<string, string>
  /** Writes whose outcome the store could not tell. */
  unknown: number
  /** Of these: found done, and found not done, by a later read. */
  unknownDone: number
  unknownNotDone: number
  /** Looks at entities and at whole groups. */
  looks: number
  /** Looks that gave an older state than was acknowledged, and the right one within seconds. Must be 0. */
  staleLooks: number
  /** Anything else that may not be: a lost write, a refused one that is there, a row that is missing. Must be empty. */
  readonly wrongs: string[]
}

export function createTally(): Tally {
  return {
    acknowledged: 0,
    refused: {},
    examples: {},
    unknown: 0,
    unknownDone: 0,
    unknownNotDone: 0,
    looks: 0,
    staleLooks: 0,
    wrongs: [],
  }
}
