import type { CatalogEntry, CleanerCounts, StoreEvents } from '@looseleaf/core'
import type { Tally } from '../pass/tally.ts'

/** Whether it is filled, by what is known of it when the work begins. */
export const workOn = ({ state }: CatalogEntry): 'fill' | 'sweep' => (state === 'building' ? 'fill' : 'sweep')

/** Does the cleaning of some indexes, and tells that it begins and how it has ended. */
export async function toldCleaning<R extends { readonly indexes: readonly EndedIndex[] }>(
  { happened }: StoreEvents,
  entries: readonly CatalogEntry[],
  signal: AbortSignal | undefined,
  work: () => Promise<R>,
): Promise<R> {
  const tell = (entry: CatalogEntry, outcome: 'begun' | 'ended' | 'halted' | 'stopped' | 'failed'): void =>
    happened({ kind: 'cleaning', work: workOn(entry), outcome, index: entry.name })
  for (const entry of entries) tell(entry, 'begun')
  try {
    const result = await work()
    for (const entry of entries) {
      const end = result.indexes.find(
        ({ index, generation, unique }) =>
          index === entry.name && generation === entry.generation && unique === (entry.unique || undefined),
      )
      tell(entry, end?.halted ? 'halted' : 'ended')
    }
    return result
  } catch (error) {
    for (const entry of entries) tell(entry, signal?.aborted ? 'stopped' : 'failed')
    throw error
  }
}

interface EndedIndex {
  readonly index: string
  readonly generation: number
  readonly unique?: true
  readonly halted?: true
}

/** What observers are told of a tally. */
export function countsOf({ entities, rows, added, removed, undecodable }: Tally): CleanerCounts {
  return { entities, rows, added, removed, undecodable }
}
