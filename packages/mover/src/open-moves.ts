import type { CallOptions } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { loadShardCatalogs, mergeCatalogs, type EngineContext } from '@looseleaf/index-engine/internal'
import { bucketsOfMove, isSameMove, ofMove, shardAt } from '@looseleaf/protocol/internal'
import { moveTask } from './move-lease.ts'
import { recordFromText } from './move-record.ts'

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
    for (const [to, given] of Map.groupBy(records, (record) => record.to)) {
      if (catalogs[to] === undefined) continue
      const ids = [...new Set(given.map(({ move }) => move))]
      const states = await shardAt(context, to).tasks.loadAll(ids.map(moveTask), options)
      for (const id of ids) {
        const own = ofMove(given, id)
        const isDone = recordFromText(states.get(moveTask(id))?.progress ?? '')?.step === 'done'
        // A failover may have brought the deleted rows back, without the record that they were to be deleted.
        if (isDone && own.every(({ emptied }) => emptied !== undefined)) continue
        const buckets = bucketsOfMove(own, id)
        open.push({ move: { id, from: shardNumber, to, buckets, phase: 'target' }, phase: undefined })
      }
    }
  }
  return open.toSorted((a, b) => a.move.id - b.move.id)
}

/** Returns a move as it is now, if it is not over. */
export async function findAgain(
  context: EngineContext,
  move: LayoutMove,
  options: CallOptions,
): Promise<OpenMove | undefined> {
  return (await openMoves(context, options)).find((open) => isSameMove(open.move, move))
}

/** Returns the move with this number if it is not over. */
export async function findMove(
  context: EngineContext,
  id: number,
  options: CallOptions,
): Promise<OpenMove | undefined> {
  return (await openMoves(context, options)).find(({ move }) => move.id === id)
}
