import type { CatalogEntry, CleanerCounts, StoreEvents } from '@looseleaf/core/internal'
import type { Tally } from '../pass/tally.ts'
import type { CleanResult } from './clean-index.ts'

/** Returns the kind of work on an index, by its state when the work begins. */
export const workOn = ({ state }: CatalogEntry): 'fill' | 'sweep' => (state === 'building' ? 'fill' : 'sweep')

/** Runs the cleaning of some indexes, and reports its start and outcome to observers. */
export async function reportCleaning(
  { happened }: StoreEvents,
  entries: readonly CatalogEntry[],
  signal: AbortSignal | undefined,
  work: () => Promise<CleanResult>,
): Promise<CleanResult> {
  const report = (entry: CatalogEntry, outcome: 'begun' | 'ended' | 'halted' | 'stopped' | 'failed'): void =>
    happened({ kind: 'cleaning', work: workOn(entry), outcome, index: entry.name })
  for (const entry of entries) report(entry, 'begun')
  try {
    const result = await work()
    // The first results are those of these entries, in their order.
    for (const [i, entry] of entries.entries()) report(entry, result.indexes[i]!.halted ? 'halted' : 'ended')
    return result
  } catch (error) {
    for (const entry of entries) report(entry, signal?.aborted ? 'stopped' : 'failed')
    throw error
  }
}

/** Returns the counts of a tally that observers receive. */
export function countsOf({ entities, rows, added, removed, undecodable }: Tally): CleanerCounts {
  return { entities, rows, added, removed, undecodable }
}
