import {
  chunks,
  unionOfRanges,
  withoutRanges,
  type AwayBuckets,
  type LeavingBuckets,
} from '@looseleaf/core/internal'
import { leavingOf, requireAnnounced, type Attempt } from './attempt.ts'
import { endedMove, type MoveWork } from './move-work.ts'
import {
  changeOwn,
  hasAttempt,
  loadOwn,
  ofMove,
  ofOthers,
  swapOwn,
  withoutBuckets,
  type OwnBuckets,
} from './own-buckets.ts'

/**
 * Seals a group of buckets at the source: their writes wait, and reads go on. Resolves with the state of the source, which is the token of
 * the seal, when every write before it has ended. A process that has waited for long takes the seal away again, and then `handOver` with
 * this token changes nothing. One statement if the source still has the state `known`.
 *
 * Without the seal, a write could be committed at the source between the last copy and `handOver`, and the target would not have it.
 */
export function seal(
  work: MoveWork,
  { attempt }: Attempt,
  group: string,
  known?: OwnBuckets,
): Promise<OwnBuckets> {
  const { context, move, signal } = work
  return changeOwn(
    context,
    move.from,
    (own) => {
      requireAnnounced(work, own)
      const leaving = leavingOf(work, own, attempt)
      if (leaving.sealed === group) return undefined
      return withLeaving(own, { ...leaving, sealed: group })
    },
    { signal },
    known,
  )
}

/**
 * Gives a sealed group up: the commit point of a move. Changes the source's own catalog by compare-and-swap from the token of the seal, so
 * it fails if the seal was ever taken away since:
 * 1. A mover makes the last copy of a bucket, and is suspended.
 * 2. A writer has waited for a second, takes the seal away, and commits an entity at the source.
 * 3. The mover goes on. Without the token the target would begin without that entity.
 *
 * `end` is a time of writing above that of every entity of the group, and `last` the entity that was copied last. Resolves with
 * undefined if nothing was changed: copy the rest and seal again. With the record, which is durable, the group can only go forward, and
 * `beginGroup` is next.
 *
 * The epoch follows that of the seal, without another reading of the clock: after a failover that loses both, the clock is past both.
 */
export async function handOver(
  { context, move, signal }: MoveWork,
  { attempt }: Attempt,
  group: string,
  sealed: OwnBuckets,
  { end, last }: Pick<AwayBuckets, 'end' | 'last'>,
): Promise<AwayBuckets | undefined> {
  const { serves } = sealed
  const away: AwayBuckets = { move: move.id, attempt, buckets: group, to: move.to, end, last }
  const [leaving] = ofMove(serves.leaving, move.id)
  if (leaving === undefined) throw endedMove(move, 'another process has ended it')
  const kept = withoutRanges(leaving.buckets, group)
  const rest: LeavingBuckets[] = kept === '' ? [] : [{ ...leaving, buckets: kept, sealed: undefined }]
  const records = [...(ofOthers(serves.leaving, move.id) ?? []), ...rest]
  const next = {
    ...serves,
    owns: withoutRanges(serves.owns, group),
    leaving: records.length === 0 ? undefined : records,
    // A group that the target has lost is given up again.
    away: [
      ...(ofOthers(serves.away, move.id) ?? []),
      ...(withoutBuckets(ofMove(serves.away, move.id), group) ?? []),
      away,
    ],
  }
  const timed = { ...sealed, now: sealed.catalog.epoch }
  if ((await swapOwn(context, move.from, timed, next, { signal })) !== undefined) return away
  // The change may have had no answer, and be on its way. It needs the epoch of the seal, so a new epoch keeps it out: 1. The mover finds the
  // group at the source, and goes on. 2. The change arrives, and the target begins, and accepts a write. 3. The mover copies the entity again,
  // over the write.
  const found = await changeOwn(
    context,
    move.from,
    (own) => {
      const isSealed = own.catalog.epoch === sealed.catalog.epoch
      return isSealed ? withLeaving(own, { ...leaving, sealed: undefined }) : undefined
    },
    { signal },
  )
  return hasAttempt(found.serves.away, away) ? away : undefined
}

/** Takes the seal of an attempt away, if it is there. A seal that stays costs a writer a second. */
export async function unseal({ context, move }: MoveWork, { attempt }: Attempt): Promise<void> {
  const own = await loadOwn(context, move.from, {})
  const [leaving] = ofMove(own.serves.leaving, move.id)
  if (leaving?.attempt !== attempt || leaving.sealed === undefined) return
  await swapOwn(context, move.from, own, withLeaving(own, { ...leaving, sealed: undefined }), {})
}

function withLeaving({ serves }: OwnBuckets, leaving: LeavingBuckets): OwnBuckets['serves'] {
  return { ...serves, leaving: [...(ofOthers(serves.leaving, leaving.move) ?? []), leaving] }
}

/** Cuts buckets into groups that are sealed one after the other, so that each seal stops the writes of few buckets. */
export function groupsOf(buckets: readonly number[], size: number): readonly string[] {
  return Array.from(chunks(buckets, size), (group) => unionOfRanges(...group.map(String)))
}
