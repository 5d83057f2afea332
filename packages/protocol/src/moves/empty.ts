import { unionOfRanges, withoutRanges, type AwayBuckets } from '@looseleaf/core/internal'
import { discardAt, discardRowsAt } from './discard.ts'
import { sourceOf, type MoveWork } from './move-work.ts'
import { changeOwn, ofMove, ofOthers, type OwnBuckets } from './own-buckets.ts'

/** Rows that were deleted on a shard that has no use for them. */
export interface Emptied {
  readonly entities: number
  readonly rows: number
}

/**
 * Deletes the entities, pending rows, index rows and claims of a move at its source, after `endMove`. The source's record says so first.
 * Resolves with undefined, and stops, once the source may have some of the buckets again: then they are not to be deleted. Repeatable.
 *
 * Every delete carries the epoch of the source by which the buckets were somewhere else:
 * 1. A mover is suspended before it sends a delete.
 * 2. The buckets come back by a later move.
 * 3. The delete would take a committed entity, or an index row that it needs.
 */
export async function emptySource(work: MoveWork): Promise<Emptied | undefined> {
  const { context, move, signal } = work
  // A follower that begins at this floor or later finds all of the entities on the target, which has begun.
  const floor = await sourceOf(work).entities.raiseFloor({ signal })
  const own = await changeOwn(
    context,
    move.from,
    (source) => (isForeign(work, source) ? emptied(work, source, floor) : undefined),
    { signal },
  )
  if (!isForeign(work, own)) return undefined
  return discardAll(work, move.from, own.catalog.epoch)
}

/** Deletes everything of the move's buckets on a shard that has no use for them, as long as it has this epoch. */
export async function discardAll(work: MoveWork, number: number, epoch: number): Promise<Emptied> {
  const { buckets } = work.move
  const { entities } = await discardAt(work, number, buckets, epoch)
  return { entities, rows: await discardRowsAt(work, number, buckets, epoch) }
}

/** Tells whether a shard has no use for the rows of the move's buckets: it does not own them, and no announced move has them. */
export function isForeign({ move }: MoveWork, { catalog, serves }: OwnBuckets): boolean {
  const { layout, shardNumber } = catalog
  const used = unionOfRanges(
    serves.owns,
    layout?.shards[shardNumber]?.buckets ?? '',
    ...(ofOthers(serves.coming, move.id) ?? []).map(({ buckets }) => buckets),
    ...(layout?.moves ?? []).map(({ buckets }) => buckets),
  )
  return withoutRanges(move.buckets, used) === move.buckets
}

/** Joins the records of the move's groups, which no follower has to tell apart any more. */
function emptied(
  { move }: MoveWork,
  { serves }: OwnBuckets,
  floor: number,
): OwnBuckets['serves'] | undefined {
  const records = ofMove(serves.away, move.id)
  if (records.every((record) => record.emptied !== undefined)) return undefined
  const joined: AwayBuckets = {
    move: move.id,
    attempt: Math.max(...records.map(({ attempt }) => attempt)),
    buckets: unionOfRanges(...records.map(({ buckets }) => buckets)),
    to: move.to,
    end: Math.max(...records.map(({ end }) => end)),
    emptied: floor,
  }
  return { ...serves, away: [...(ofOthers(serves.away, move.id) ?? []), joined] }
}
