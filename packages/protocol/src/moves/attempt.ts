import { LooseleafError } from '@looseleaf/core'
import {
  rangesInclude,
  unionOfRanges,
  withoutRanges,
  type ComingBuckets,
  type CopiedEntity,
  type LeavingBuckets,
} from '@looseleaf/core/internal'
import { beginTarget } from './begin-target.ts'
import { endedMove, targetOf, type MoveWork } from './move-work.ts'
import { timeBelowFloor } from '../floor.ts'
import { shardAt } from '../shards.ts'
import { hasCopy } from './missing-copies.ts'
import {
  announcedIn,
  bucketsOfMove,
  changeOwn,
  loadOwn,
  loadTimed,
  ofMove,
  ofOthers,
  type OwnBuckets,
} from './own-buckets.ts'

/** An attempt at copying the buckets that the target does not serve. */
export interface Attempt {
  readonly attempt: number
  readonly buckets: string
  /** The part of `buckets` that the source has given up, and the target has lost. */
  readonly lost: string
}

/** Fence of the copies at the target, and the time of writing of those of one pass. */
export interface CopyTarget {
  readonly epoch: number
  /** A time below a floor of the target that is on disk, and above the times of all earlier passes; in microseconds since 1970. */
  readonly updated: number
}

/** State that a target has, unless it went back to an earlier one. */
export interface KnownTarget {
  /** The last attempt that has begun there; 0 if that is unknown, or if there was none. */
  readonly attempt: number
  /** The last copy since the target began with a group; undefined if there was none. */
  readonly last: CopiedEntity | undefined
}

/**
 * Begins an attempt at the source, with a greater number than every attempt before: at the buckets that it has not given up, and at those
 * that the target has `lost`; default: those of the attempt before, whose record, and so its number, stays. Resolves with undefined if there are none. From then on the source purges
 * no tombstones of these buckets, and refuses the steps of an earlier attempt.
 *
 * No number is given twice, because it follows the epoch and the clock of the source. The numbers of the records alone would not do:
 * 1. A mover begins an attempt at lost buckets, and is suspended before the target has it.
 * 2. The target comes back, and begins. Another mover ends the attempt, so its record is gone. The target loses the buckets again.
 * 3. That mover begins an attempt with the same number, and hands a group over. The target accepts a write.
 * 4. The first one finds its number at the target, and deletes what is there.
 *
 * A target may come back with lost buckets at any time. `come` rejects with `STALE_EPOCH` then, and the next attempt is without them.
 *
 * The source takes lost buckets not back. Only their new record lets the target begin, and a target that comes back with the old copies refuses the
 * new ones.
 *
 * Every mover that takes a move over begins an attempt of its own:
 * 1. A mover copies version 1 of an entity, and is suspended before the copy is sent.
 * 2. Another mover takes over, and copies version 2.
 * 3. The first one sends version 1, which overwrites version 2. The commit would lose an acknowledged write.
 * The target refuses the copy of step 3, because `come` has changed its epoch.
 */
export async function leave(work: MoveWork, lost?: string): Promise<Attempt | undefined> {
  const { context, move, signal } = work
  const [target, timed] = await Promise.all([
    // A source that went back to an earlier state, with an earlier clock, would give numbers that the target refuses.
    loadOwn(context, move.to, { signal }),
    loadTimed(context, move.from, { signal }),
  ])
  const now = timed.now ?? 0
  const [coming] = ofMove(target.serves.coming, move.id)
  const own = await changeOwn(
    context,
    move.from,
    (source) => {
      requireAnnounced(work, source)
      const { serves } = source
      const kept = withoutRanges(move.buckets, bucketsOfMove(serves.away, move.id))
      const left = bucketsOfMove(serves.leaving, move.id)
      const buckets = unionOfRanges(kept, lost ?? left)
      const others = ofOthers(serves.leaving, move.id)
      if (buckets === '') return left === '' ? undefined : { ...serves, leaving: others }
      if (!rangesInclude(serves.owns, kept))
        throw endedMove(move, `shard ${move.from} does not own all of its buckets`)
      const records = [coming, ...ofMove(serves.leaving, move.id), ...ofMove(serves.away, move.id)]
      const known = records.map((record) => record?.attempt ?? 0)
      const attempt = Math.max(now, 1 + Math.max(source.catalog.epoch, ...known))
      const leaving: LeavingBuckets = { move: move.id, attempt, buckets, to: move.to }
      return { ...serves, leaving: [...(others ?? []), leaving] }
    },
    { signal },
    timed,
  )
  const [found] = ofMove(own.serves.leaving, move.id)
  if (found === undefined) return undefined
  const kept = withoutRanges(move.buckets, bucketsOfMove(own.serves.away, move.id))
  return { attempt: found.attempt, buckets: found.buckets, lost: withoutRanges(found.buckets, kept) }
}

/**
 * Throws `CONFLICT` unless the shard's catalog has the move in the phase `both`. The change that follows compares the epoch of the same row,
 * so none takes place after `announceUndo`.
 */
export function requireAnnounced({ move }: MoveWork, own: OwnBuckets): void {
  const found = announcedIn(own, move)
  const phase = found?.buckets === move.buckets ? found.phase : undefined
  if (phase === 'both') return
  const reason = phase === undefined ? 'it has ended' : `its phase is ${phase}`
  throw endedMove(move, reason)
}

/** Returns the record of an attempt at the source. Throws `CONFLICT` if it has ended. */
export function leavingOf(work: MoveWork, { serves }: OwnBuckets, attempt: number): LeavingBuckets {
  const [found] = ofMove(serves.leaving, work.move.id)
  if (found?.attempt === attempt) return found
  throw takenOver(work)
}

/**
 * Begins the attempt at the target, so that it refuses copies of earlier attempts. Before that, buckets that an earlier attempt has handed
 * over begin there. Copies of earlier attempts at this move stay, because the source purges none of their tombstones since the first one:
 * every later state of the entity is copied over them.
 *
 * Resolves with undefined if the target lacks something of the known state: it went back to an earlier state, and everything has to be
 * copied again. A later attempt than the known one is no proof: 1. The target loses copies of this mover. 2. Another mover begins an attempt.
 * 3. This mover would go on as if the copies were there. The attempt is on disk before the last copy is looked for, so a target that goes
 * back behind this look lacks the attempt.
 */
export async function come(
  work: MoveWork,
  { attempt, buckets, lost }: Attempt,
  known: KnownTarget,
): Promise<CopyTarget | undefined> {
  const { context, move, signal } = work
  await beginTarget(context, move.to, { signal })
  let wentBack = false
  const begun = await changeOwn(
    context,
    move.to,
    (target) => {
      const { serves } = target
      const [earlier] = ofMove(serves.coming, move.id)
      const wasLeft = earlier !== undefined && withoutRanges(earlier.buckets, buckets) !== ''
      // The numbers of attempts are of one mover each, so this change was made by an earlier try without an answer.
      const isMade = earlier?.attempt === attempt
      const isKnown = isMade || known.attempt === 0 || earlier?.attempt === known.attempt
      wentBack = isBefore(work, target) || wasLeft || !isKnown
      if (wentBack) return undefined
      requireAnnounced(work, target)
      if (isMade) return undefined
      if (earlier !== undefined && earlier.attempt > attempt) throw takenOver(work)
      const kept = withoutRanges(buckets, lost)
      if (withoutRanges(kept, serves.owns) !== kept)
        throw endedMove(move, `shard ${move.to} owns some of its buckets already`)
      if (withoutRanges(lost, serves.owns) !== lost) throw begunMeanwhile(work)
      const afterAddedId = earlier?.afterAddedId ?? 0
      const coming: ComingBuckets = { move: move.id, attempt, buckets, from: move.from, afterAddedId }
      return { ...serves, coming: [...(ofOthers(serves.coming, move.id) ?? []), coming] }
    },
    { signal },
  )
  if (wentBack || !(await hasCopy(context, move.to, known.last, { signal }))) return undefined
  return copyTarget(work, begun.catalog.epoch)
}

/** Tells whether a target is in a state from before the announcement of the move. The source has it, so it has not ended. */
function isBefore({ move }: MoveWork, target: OwnBuckets): boolean {
  return announcedIn(target, move) === undefined
}

/**
 * Makes the error of a step of an attempt that is not the last one. It is retryable, because the mover that has begun the last one may have lost
 * the move since: 1. A mover is suspended for longer than its lease. 2. Another one takes the move over. 3. The first one goes on, begins an
 * attempt, and then notices that it has lost the lease.
 */
function takenOver({ move }: MoveWork): LooseleafError {
  return new LooseleafError(
    'STALE_EPOCH',
    `Move ${move.id}: another process has begun a later attempt, or has ended this one. The process with the lease of the move goes on by a new attempt.`,
  )
}

/**
 * Tells whether a target has an attempt, with the buckets that it has not begun with. A target that went back to an earlier state lacks the
 * attempt, or has not begun with buckets that it had begun with.
 */
export function hasComing({ serves }: OwnBuckets, move: number, { attempt, buckets }: Attempt): boolean {
  const [found] = ofMove(serves.coming, move)
  return found?.attempt === attempt && withoutRanges(found.buckets, buckets) === ''
}

/** Tells whether the target has an attempt and the last copy, so that it did not go back to an earlier state since. */
export async function hasKept(
  { context, move, signal }: MoveWork,
  attempt: Attempt,
  { last }: Pick<KnownTarget, 'last'>,
): Promise<boolean> {
  const target = await loadOwn(context, move.to, { signal })
  return hasComing(target, move.id, attempt) && (await hasCopy(context, move.to, last, { signal }))
}

/** Makes the error of a target that has begun with buckets since the mover looked: it came back, or a change of the source arrived late. */
function begunMeanwhile({ context, move }: MoveWork): LooseleafError {
  const shard = shardAt(context, move.to).name
  return new LooseleafError(
    'STALE_EPOCH',
    `Move ${move.id}: ${shard} serves buckets that were about to be copied again. The move goes on with the others.`,
    { shard },
  )
}

/**
 * Gives an attempt a new epoch at the target, so that no copy or delete that was sent before can take place any more. Call it after a
 * copy without an answer, and after `STALE_EPOCH`:
 * 1. A copy of version 1 gets no answer, and is still on its way.
 * 2. Version 2 is copied.
 * 3. The first copy arrives, and overwrites it.
 *
 * Resolves with undefined if the target went back to an earlier state, which lacks the attempt or the last copy. Rejects with `STALE_EPOCH` if
 * the target has begun with buckets that this mover has not handed over, so that no copy overwrites what the target has accepted:
 * 1. The change that gives a group up gets no answer, and is on its way. The mover takes the seal away.
 * 2. The source fails over to the state of the seal. The change arrives, and the target begins.
 */
export async function renewTarget(
  work: MoveWork,
  attempt: Attempt,
  { last, afterAddedId }: Pick<KnownTarget, 'last'> & { readonly afterAddedId?: number },
): Promise<CopyTarget | undefined> {
  const { context, move, signal } = work
  let wentBack = false
  const own = await changeOwn(
    context,
    move.to,
    (target) => {
      const { serves } = target
      const [found] = ofMove(serves.coming, move.id)
      if (found !== undefined && found.attempt > attempt.attempt) throw takenOver(work)
      wentBack = isBefore(work, target) || !hasComing(target, move.id, attempt)
      if (found === undefined || wentBack) return undefined
      if (withoutRanges(attempt.buckets, found.buckets) !== '') throw begunMeanwhile(work)
      requireAnnounced(work, target)
      const coming = { ...found, afterAddedId: afterAddedId ?? found.afterAddedId }
      return { ...serves, coming: [...(ofOthers(serves.coming, move.id) ?? []), coming] }
    },
    { signal },
  )
  if (wentBack || !(await hasCopy(context, move.to, last, { signal }))) return undefined
  return copyTarget(work, own.catalog.epoch)
}

/**
 * Returns the target of a pass of copies, whose time is above those of all earlier passes. The target keeps a row of a later time:
 * 1. A pass copies version 1 of an entity.
 * 2. The next pass copies version 2.
 * 3. The copy of version 1 arrives once more, and would overwrite version 2.
 *
 * Versions cannot tell which copy is the later one: after a failover of the source, its last state may have a lower version.
 *
 * The target begins at the next microsecond, so its floor has to be there, on disk.
 */
export async function copyTarget(work: MoveWork, epoch: number): Promise<CopyTarget> {
  return { epoch, updated: await timeBelowFloor(targetOf(work), work.signal) }
}
