import type { Pass } from './pass.ts'
import { addTally, emptyTally } from './tally.ts'

/**
 * Runs work that looks at entities again which the pass has counted before: of its counts only what was changed goes
 * into the pass, and no problem is reported twice.
 */
export async function lookAgain<T>(pass: Pass, work: (again: Pass) => Promise<T>): Promise<T> {
  const tally = emptyTally()
  try {
    return await work({ ...pass, tally, report: () => undefined })
  } finally {
    const { added, removed, fenced, waiting } = tally
    addTally(pass.tally, { added, removed, fenced, waiting })
  }
}
