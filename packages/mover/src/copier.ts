import { isLooseleafError } from '@looseleaf/core'
import { bucketsIn, withoutRanges, type UpdatedPlace } from '@looseleaf/core/internal'
import {
  beginTarget,
  clearTarget,
  come,
  copyTarget,
  leave,
  lostByTarget,
  placeAt,
  renewTarget,
  type Attempt,
  type ChainedTarget,
  type Copied,
  type CopyTarget,
} from '@looseleaf/protocol/internal'
import { lostCopies } from './copy-faults.ts'
import type { MoveJob } from './move-job.ts'

/** Changes of the target's catalog during one copy after which it gives up. */
const MAX_RENEWALS = 50

/** Sends copies by the target of an attempt, and gives it a new epoch after a change of its catalog, or a copy without an answer. */
export interface Copier {
  /** The attempt, with the buckets that it has not handed over. */
  readonly attempt: Attempt
  /** The buckets to copy now. Lost ones come before index rows and all others, because no shard serves them. */
  readonly buckets: string
  /** Everything of these buckets before this place is copied. */
  place: UpdatedPlace
  /** The target of the last copies. */
  readonly target: CopyTarget
  copy<T extends Copied>(send: (target: ChainedTarget) => Promise<T>): Promise<T>
  /**
   * Begins another pass. Each pass has an entity once at most, and the target keeps the copy of a later pass. Two statements if the pass before
   * has copied anything, so call it before a seal.
   */
  beginPass(): Promise<void>
  /** Goes on after the target has begun with a group. Sends further copies to `next`, if the mover itself has changed the target's catalog. */
  goOn(group: string, next: CopyTarget | undefined): void
}

/**
 * Begins an attempt at the source and at the target. Resolves with undefined if the target serves all buckets of the move.
 *
 * A target that goes back to a state from before the attempt is noticed by the attempt, and one that loses a later copy by the last copy. So
 * all that the target was given before an attempt, and all that was compared during it, is there when a group is handed over.
 */
export async function beginAttempt(job: MoveJob): Promise<Copier | undefined> {
  const { work, lease } = job
  const { record } = lease
  for (;;) {
    // A mover that wakes without its lease would end the attempt of the one that has it.
    await lease.saveDue()
    const attempt = await leaveAll(job)
    if (attempt === undefined) return undefined
    const target = await come(work, attempt, record)
    if (target === undefined) throw await lostCopies(job)
    record.attempt = attempt.attempt
    const cleared = record.cleared ? target : await clearTarget(work, attempt, target)
    if (cleared === undefined) continue
    record.cleared = true
    return createCopier(job, attempt, cleared)
  }
}

/** Begins an attempt at the source, at the buckets that the target has lost too. */
async function leaveAll(job: MoveJob): Promise<Attempt | undefined> {
  const { work, lease } = job
  const attempt = await leave(work)
  await beginTarget(work.context, work.move.to, { signal: work.signal })
  const lost = await lostByTarget(work)
  // The record has no last copy from before the target began, and that is lost with copies.
  const { attempt: known } = lease.record
  if (known !== 0 && known <= lost.attempt) throw await lostCopies(job)
  return lost.buckets === (attempt?.lost ?? '') ? attempt : leave(work, lost.buckets)
}

function createCopier(job: MoveJob, begun: Attempt, first: CopyTarget): Copier {
  const { work, lease } = job
  const { record } = lease
  let attempt = begun
  let target = first
  let isUsed = false
  // The place of the record is that of all buckets.
  let lostPlace = placeAt(0)
  const lostFirst = (): string => lostBeforeRows(attempt)
  return {
    get attempt() {
      return attempt
    },
    get buckets() {
      return lostFirst() || attempt.buckets
    },
    get place() {
      return lostFirst() === '' ? record.place : lostPlace
    },
    set place(place) {
      if (lostFirst() !== '') lostPlace = place
      else record.place = place
    },
    get target() {
      return target
    },
    goOn(group, next) {
      const { buckets, lost } = attempt
      attempt = { ...attempt, buckets: withoutRanges(buckets, group), lost: withoutRanges(lost, group) }
      record.last = undefined
      if (next === undefined) return
      target = next
      isUsed = false
    },
    async beginPass() {
      if (isUsed) target = await copyTarget(work, target.epoch)
      isUsed = false
    },
    async copy(send) {
      for (let renewals = 0; ; renewals++) {
        try {
          const done = await send({ ...target, chain: record })
          isUsed ||= done.copied > 0
          return done
        } catch (error) {
          if (!isLooseleafError(error, 'STALE_EPOCH') || renewals >= MAX_RENEWALS) throw error
          const renewed = await renewTarget(work, attempt, record)
          if (renewed === undefined) throw await lostCopies(job)
          target = renewed
          isUsed = false
        }
      }
    },
  }
}

/**
 * Returns the lost buckets of an attempt that are handed over before index rows are copied: all but one if no others are left. The target begins
 * with the last bucket of a move by an attempt that begins after the rows were copied, so a target that loses rows loses that attempt.
 */
function lostBeforeRows({ buckets, lost }: Attempt): string {
  return lost === buckets ? withoutRanges(lost, `${bucketsIn(lost).at(-1) ?? ''}`) : lost
}
