import type { CallOptions } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { loadShardCatalogs, mergeCatalogs, type EngineContext } from '@looseleaf/index-engine/internal'
import { bucketsOfMove, ofMove, shardAt } from '@looseleaf/protocol/internal'
import { moveTask } from './move-lease.ts'
import { recordFromText } from './move-record.ts'

/** A move that is not over. */
export interface OpenMove {
  /** As announced, or as the source's record tells. */
  readonly move: LayoutMove
  /** Undefined once the announcement has ended: the source still has to delete what it gave up. */
  readonly phase: LayoutMove['phase'] | undefined
}

/** Returns the moves that are not over, in the order of their announcement, by the catalogs as they are now. */
export async function openMoves(context: EngineContext, options: CallOptions): Promise<readonly OpenMove[]> {
  const catalogs = await loadShardCatalogs(context.driver, options)
  const announced = mergeCatalogs(catalogs).layout?.moves ?? []
  const open: OpenMove[] = announced.map((move) => ({ move, phase: move.phase }))
  for (const catalog of catalogs) {
    // A shard is removed after its moves.
    if (catalog === undefined) continue
    const { shardNumber, serves } = catalog
    // The copies of an undone move, until they are deleted.
    for (const { move: id, from, buckets } of serves?.coming ?? [])
      if (announced.every((move) => move.id !== id))
        open.push({ move: { id, from, to: shardNumber, buckets, phase: 'undoing' }, phase: 'undoing' })
    const records = (serves?.away ?? []).filter(({ move }) => announced.every(({ id }) => id !== move))
    for (const id of new Set(records.map(({ move }) => move))) {
      const ofOne = ofMove(records, id)
      const { to } = ofOne[0]!
      if (catalogs[to] === undefined) continue
      const task = await shardAt(context, to).tasks.load(moveTask(id), options)
      if (recordFromText(task?.progress ?? '')?.step === 'done') continue
      const move: LayoutMove = {
        id,
        from: shardNumber,
        to,
        buckets: bucketsOfMove(ofOne, id),
        phase: 'target',
      }
      open.push({ move, phase: undefined })
    }
  }
  return open.toSorted((a, b) => a.move.id - b.move.id)
}

/** Returns the move with this number if it is not over. */
export async function findMove(
  context: EngineContext,
  id: number,
  options: CallOptions,
): Promise<OpenMove | undefined> {
  return (await openMoves(context, options)).find(({ move }) => move.id === id)
}
