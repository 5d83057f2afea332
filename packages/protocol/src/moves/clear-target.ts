import { renewTarget, type Attempt, type CopyTarget } from './attempt.ts'
import { discardAt } from './discard.ts'
import { sourceOf, targetOf, type MoveWork } from './move-work.ts'

/**
 * Deletes rows of the buckets of an attempt that are at the target before anything is copied:
 * 1. An earlier move was undone, and left a copy of an entity at the target.
 * 2. The entity is deleted at the source, and its tombstone is purged.
 * 3. This move finds nothing to copy. The old copy would be back.
 *
 * Resolves with undefined if anything was changed. Begin another attempt then, and call it again: a target that goes back to a state with
 * the rows lacks that attempt.
 */
export async function clearTarget(
  work: MoveWork,
  attempt: Attempt,
  { epoch }: CopyTarget,
): Promise<CopyTarget | undefined> {
  if (await raiseBound(work, epoch)) return undefined
  const { entities, pending, lastAddedId } = await discardAt(work, work.move.to, attempt.buckets, epoch)
  if (entities + pending > 0) return undefined
  return renewTarget(work, attempt, { last: undefined, afterAddedId: lastAddedId })
}

/**
 * Copies the version bound of purged tombstones to the target, unless it has that. An id without a row counts as one with a tombstone below
 * the bound, so a late insert that the source would refuse must not get in at the target.
 */
async function raiseBound(work: MoveWork, epoch: number): Promise<boolean> {
  const { signal } = work
  const [source, target] = await Promise.all([
    sourceOf(work).entities.floor({ signal }),
    targetOf(work).entities.floor({ signal }),
  ])
  const { version } = source.purged
  if (version <= target.purged.version) return false
  await targetOf(work).entities.raisePurged({ updated: 0, version }, { epoch, signal })
  return true
}
