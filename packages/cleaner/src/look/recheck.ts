import type { Pass } from '../pass/pass.ts'
import { addTally, emptyTally, type Tally } from '../pass/tally.ts'

/**
 * Runs work that reads entities which the pass has counted already. Only its repairs are added to the counts of the pass, and it reports no
 * problem a second time.
 */
export async function recheck<P extends Pass, T>(pass: P, work: (again: P) => Promise<T>): Promise<T> {
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
