import type { CallOptions } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import { moveTask } from './move-lease.ts'
import { isLastStep, recordFromText } from './move-record.ts'

/** Largest number of moves in a list. */
const MOST = 10
/**
 * Revisions of the layout that are looked through, from the last one down. The number of a move is the revision of the layout that announced
 * it, and its end is another revision.
 */
const REVISIONS = 100

/** Returns the last moves that are over, in the order of their announcement. Their records stand on their targets; those of a removed shard are left out. */
export async function finishedMoves(
  context: EngineContext,
  options: CallOptions,
): Promise<readonly LayoutMove[]> {
  const { layout } = await context.catalog.reload(options)
  if (layout?.moves === undefined) return []
  const { revision } = layout
  const ids = Array.from({ length: REVISIONS }, (_, i) => revision - i)
  const found = await Promise.all(
    presentNumbers(context.driver).map(async (to) => {
      const states = await shardAt(context, to).tasks.loadAll(ids.map(moveTask), options)
      return ids.flatMap((id): readonly LayoutMove[] => {
        const record = recordFromText(states.get(moveTask(id))?.progress ?? '')
        if (record === undefined || !isLastStep(record.step)) return []
        const { from, buckets, step } = record
        return [{ id, from, to, buckets, phase: step === 'done' ? 'target' : 'undoing' }]
      })
    }),
  )
  return found
    .flat()
    .toSorted((a, b) => a.id - b.id)
    .slice(-MOST)
}
