import type { Pass } from '../pass/pass.ts'
import { addTally, emptyTally, type Tally } from '../pass/tally.ts'

/**
 * Runs work that looks at entities again which the pass has counted before: of its counts only what was changed goes
 * into the pass, and no problem is reported twice.
 */
export async function lookAgain<P extends Pass, T>(pass: P, work: (again: P) => Promise<T>): Promise<T> {
  const scratch = new Map<Tally, Tally>()
  const againOf = (tally: Tally): Tally => {
    const again = scratch.get(tally) ?? emptyTally()
    scratch.set(tally, again)
    return again
  }
  const again: P = {
    ...pass,
    tally: againOf(pass.tally),
    tallyOf: (target) => againOf(pass.tallyOf(target)),
    report: () => undefined,
  }
  try {
    return await work(again)
  } finally {
    for (const [tally, { added, removed, fenced, waiting }] of scratch)
      addTally(tally, { added, removed, fenced, waiting })
  }
}
