/** Results of the callers. */
export interface Tally {
  acknowledged: number
  /** Writes that were reported as not done, by error code. */
  refused: Record<string, number>
  /** First message of each code. */
  readonly examples: Record<string, string>
  /** Writes of unknown outcome. */
  unknown: number
  /** Writes of unknown outcome that a later read found done, or not done. */
  unknownDone: number
  unknownNotDone: number
  /** Reads of entities and of whole groups. */
  looks: number
  /**
   * Reads that returned a state older than an acknowledged one, and the right one within seconds. Must be 0.
   */
  staleLooks: number
  /** All other violations: a lost write, a refused one that took place, a missing row. Must be empty. */
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
