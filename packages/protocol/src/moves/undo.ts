import { LooseleafError } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { keptRowsMs } from '@looseleaf/index-engine/internal'
import { announceUndo, completeAnnouncement, withdrawMove, withdrawUndo } from './announce.ts'
import { discardAll, ownAfterEnd, type Emptied } from './empty.ts'
import { UNCHECKED_WAIT_MS, type MoveWork } from './move-work.ts'
import { announcedIn, changeOwn, durableOwn, ofMove, ofOthers, type OwnBuckets } from './own-buckets.ts'

/**
 * Undoes a move of which no bucket has changed its owner: announces `undoing`, by which source and target refuse further steps of the move,
 * ends the attempt at the source, waits until no process reads by an earlier phase, withdraws the announcement, and deletes the copies.
 * Repeatable. Resolves with undefined once the source has given the first group up: the move is in the phase `both` then, and can only be
 * finished.
 *
 * The source decides. The announcement changes its epoch, so a `handOver` by an earlier seal fails:
 * 1. A mover has sealed a group, and is suspended.
 * 2. The move is undone, and its copies are deleted.
 * 3. The mover goes on, and gives the group up to a target without its entities.
 *
 * The attempt ends after the announcement, which stays after any failure. So no mover goes on with copies from before the end of an attempt,
 * after which the source purges tombstones:
 * 1. A mover copies an entity. An undo ends the attempt, and dies.
 * 2. The entity is deleted, and its tombstone is purged.
 * 3. The next mover finds nothing to copy. The target would begin with the entity.
 *
 * The source may give a group up before the announcement reaches it. So its record is looked at again after that, and the undo is withdrawn.
 * A process that dies before it withdraws the undo leaves that to the next one: neither the move nor its undo could go on otherwise.
 */
export async function undoMove(work: MoveWork): Promise<Emptied | undefined> {
  if (!(await takeBack(work))) return undefined
  // By an earlier catalog the target would keep the copies.
  await completeAnnouncement(work)
  return discardCopies(work)
}

/**
 * Undoes a move without the target, whose copies stay. For a target that takes no writes; `undoMove` deletes the copies when it does again.
 * Repeatable. Resolves with false once the source has given the first group up, as `undoMove` does with undefined.
 */
export async function takeBack(work: MoveWork): Promise<boolean> {
  const { context, move, signal } = work
  // Durable: 1. An undo is withdrawn because of a record that a crash undoes. 2. Another process ends the attempt, and goes on with the undo.
  let source = await durableOwn(context, move.from, { signal })
  if (!hasGivenUp(work, source)) {
    await announceUndo(work)
    source = await endAttempt(work)
  }
  if (hasGivenUp(work, source)) {
    await withdrawUndo(work)
    return false
  }
  if (announcedIn(source, move) !== undefined) {
    await context.time.sleep(UNCHECKED_WAIT_MS + keptRowsMs(context.catalog.current()), signal)
    await withdrawMove(work)
  }
  return true
}

/** Ends the attempt at the source, unless that has given buckets up. */
async function endAttempt(work: MoveWork): Promise<OwnBuckets> {
  const { context, move, signal } = work
  return changeOwn(
    context,
    move.from,
    (source) => {
      const { serves } = source
      return hasGivenUp(work, source) || ofMove(serves.leaving, move.id).length === 0
        ? undefined
        : { ...serves, leaving: ofOthers(serves.leaving, move.id) }
    },
    { signal },
  )
}

function hasGivenUp({ move }: MoveWork, { serves }: OwnBuckets): boolean {
  return ofMove(serves.away, move.id).length > 0
}

/** Deletes the copies at the target, except those of buckets that a later move brings there. The record of the attempt stays until they are deleted. */
async function discardCopies(work: MoveWork): Promise<Emptied> {
  const { context, move, signal } = work
  const { entities, rows } = await discardAll(work, move.to, async () => ({
    own: await ownAfterEnd(work, move.to),
    awaits: [],
  }))
  await changeOwn(
    context,
    move.to,
    ({ serves }) =>
      ofMove(serves.coming, move.id).length === 0
        ? undefined
        : { ...serves, coming: ofOthers(serves.coming, move.id) },
    { signal },
  )
  return { entities, rows }
}

/** Makes the error of an undo that comes too late. */
export function handedOver({ id, to }: Pick<LayoutMove, 'id' | 'to'>): LooseleafError {
  return new LooseleafError(
    'CONFLICT',
    `Move ${id} cannot be undone: shard ${to} has some of its buckets already. Finish it with shards.repair, then move the buckets back.`,
    { retryable: false },
  )
}
