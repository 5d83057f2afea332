import type { Pass } from '../pass/pass.ts'
import { addTally, emptyTally, type Tally } from '../pass/tally.ts'

/**
 * Runs work that reads entities which the pass has counted already. Only its repairs are added to the counts of the pass, and it reports no
 * problem a second time.
 */
export async function recheck<P extends Pass, T>(pass: P, work: (silentPass: P) => Promise<T>): Promise<T> {
  const scratch = new Map<Tally, Tally>()
  const scratchOf = (tally: Tally): Tally => {
    const copy = scratch.get(tally) ?? emptyTally()
    scratch.set(tally, copy)
    return copy
  }
  const silentPass: P = {
    ...pass,
    tally: scratchOf(pass.tally),
    tallyOf: (target) => scratchOf(pass.tallyOf(target)),
    report: () => undefined,
  }
  try {
    return await work(silentPass)
  } finally {
    for (const [tally, { added, removed, fenced, postponed }] of scratch)
      addTally(tally, { added, removed, fenced, postponed })
  }
}
