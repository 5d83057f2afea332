import { LooseleafError } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { keptRowsMs } from '@looseleaf/index-engine/internal'
import { announceUndo, completeAnnouncement, withdrawMove, withdrawUndo } from './announce.ts'
import { discardAll, type Emptied } from './empty.ts'
import { UNCHECKED_WAIT_MS, type MoveWork } from './move-work.ts'
import { announcedIn, changeOwn, loadOwn, ofMove, ofOthers, type OwnBuckets } from './own-buckets.ts'

/**
 * Undoes a move of which no bucket has changed its owner: announces `undoing`, by which source and target refuse further steps of the move,
 * ends the attempt at the source, waits until no process reads by an earlier phase, withdraws the announcement, and deletes the copies.
 * Repeatable. Throws `CONFLICT` once the source has given the first group up: then finish the move, and move the buckets back.
 *
 * The source decides. The announcement changes its epoch, so a `handOver` by an earlier seal fails:
 * 1. A mover has sealed a group, and is suspended.
 * 2. The move is undone, and its copies are deleted.
 * 3. The mover goes on, and gives the group up to a target without its entities.
 *
 * The attempt ends after the announcement. Before it, an undo that dies in between would let the next mover begin an attempt with a number
 * that an earlier attempt had, whose copies the target then takes for those of the later one.
 *
 * The source may give a group up before the announcement reaches it. So its record is looked at again after that.
 */
export async function undoMove(work: MoveWork): Promise<Emptied> {
  await takeBack(work)
  // By an earlier catalog the target would keep the copies.
  await completeAnnouncement(work)
  return discardCopies(work)
}

/**
 * Undoes a move without the target, whose copies stay. For a target that takes no writes; `undoMove` deletes the copies when it does again.
 * Repeatable. Throws `CONFLICT` as `undoMove` does.
 */
export async function takeBack(work: MoveWork): Promise<void> {
  const { context, move, signal } = work
  requireKept(work, await loadOwn(context, move.from, { signal }))
  await announceUndo(work)
  const source = await endAttempt(work).catch(async (error: unknown) => {
    await withdrawUndo(work)
    throw error
  })
  if (announcedIn(source, move.id) !== undefined) {
    await context.time.sleep(UNCHECKED_WAIT_MS + keptRowsMs(context.catalog.current()), signal)
    await withdrawMove(work)
  }
}

async function endAttempt(work: MoveWork): Promise<OwnBuckets> {
  const { context, move, signal } = work
  return changeOwn(
    context,
    move.from,
    (source) => {
      requireKept(work, source)
      const { serves } = source
      return ofMove(serves.leaving, move.id).length === 0
        ? undefined
        : { ...serves, leaving: ofOthers(serves.leaving, move.id) }
    },
    { signal },
  )
}

/** Throws `CONFLICT` if the source has given buckets of the move up. */
function requireKept({ move }: MoveWork, { serves }: OwnBuckets): void {
  if (ofMove(serves.away, move.id).length > 0) throw handedOver(move)
}

/** Deletes the copies at the target, except those of buckets that a later move brings there. The record of the attempt stays until they are deleted. */
async function discardCopies(work: MoveWork): Promise<Emptied> {
  const { context, move, signal } = work
  const target = await loadOwn(context, move.to, { signal })
  const discarded = await discardAll(work, move.to, target)
  await changeOwn(
    context,
    move.to,
    ({ serves }) =>
      ofMove(serves.coming, move.id).length === 0
        ? undefined
        : { ...serves, coming: ofOthers(serves.coming, move.id) },
    { signal },
  )
  return discarded ?? { entities: 0, rows: 0 }
}

/** Makes the error of an undo that comes too late. */
export function handedOver({ id, to }: Pick<LayoutMove, 'id' | 'to'>): LooseleafError {
  return new LooseleafError(
    'CONFLICT',
    `Move ${id} cannot be undone: shard ${to} has some of its buckets already. Finish it with shards.repair, then move the buckets back.`,
  )
}
