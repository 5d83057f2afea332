import { elapsedBy, type LayoutMove } from '@looseleaf/core/internal'
import { keptRowsMs } from '@looseleaf/index-engine/internal'
import {
  announceTarget,
  completeAnnouncement,
  emptySource,
  endMove,
  handedOver,
  UNCHECKED_WAIT_MS,
  undoMove,
} from '@looseleaf/protocol/internal'
import { beginAttempt, type Copier } from './copier.ts'
import { compareCopies, copyAllRows, copyRounds, countSource, verifyCopies } from './copy-move.ts'
import { handOverGroups } from './hand-over-groups.ts'
import type { MoveJob } from './move-job.ts'
import { isLastStep, type MoveStep } from './move-record.ts'
import { awaitedText } from './move-report.ts'

/** Milliseconds between two looks whether the turn of a move has come. */
const TURN_MS = 50

/**
 * Walks a move from its present phase to the end. Every step can be repeated, so a mover that takes over walks the same way. A move that is
 * announced as being undone is undone, or walked to its end if a group was handed over before the announcement.
 */
export async function walkMove(job: MoveJob, phase: LayoutMove['phase'] | undefined): Promise<void> {
  if (phase === 'undoing' && (await isUndone(job))) return
  if (phase === 'both' || phase === 'undoing') await inTurn(job, () => fill(job))
  job.onHandedOver?.()
  // A mover may have died when its end was on some shards. By a catalog that still has the announcement, the source would keep its rows.
  if (phase === undefined) await endMove(job.work)
  else await switchReads(job)
  await empty(job)
}

/** Undoes a move. Throws `CONFLICT` once a group was handed over. */
export async function undo(job: MoveJob): Promise<void> {
  if (!(await isUndone(job))) throw handedOver(job.work.move)
}

/** Undoes a move. Resolves with false once a group was handed over: the move goes on then. */
async function isUndone(job: MoveJob): Promise<boolean> {
  const { record } = job.lease
  const { step } = record
  await enter(job, 'undoing')
  const discarded = await undoMove(job.work)
  if (discarded === undefined) {
    record.step = step === 'undoing' ? 'copying' : step
    return false
  }
  record.counts.emptied += discarded.entities + discarded.rows
  await enter(job, 'undone')
  return true
}

/** Copies everything, compares it, and hands the buckets over. */
async function fill(job: MoveJob): Promise<void> {
  const { work, lease, announcement } = job
  const { record } = lease
  const elapsed = elapsedBy(work.context.time)
  if (announcement.at === undefined) {
    await completeAnnouncement(work)
    announcement.at = elapsed()
  }
  let copier = await beginAttempt(job)
  if (copier === undefined) return
  await handOverLost(job, copier)
  if (record.step === 'sealing') await enter(job, 'sealing')
  else {
    await enter(job, 'copying')
    if (record.total === 0) record.total = await countSource(job)
    await copyRounds(job, copier)
    await copyAllRows(job, { comparing: false })
    await copyRounds(job, copier)
    do {
      // A target that loses what is compared lacks this attempt.
      copier = await beginAttempt(job)
      if (copier === undefined) return
      await enter(job, 'checking')
    } while (!(await verifyCopies(job, copier)))
  }
  // Copies took this time, mostly: reads by a process that has not noticed the announcement are over before the first bucket leaves.
  await lease.sleep(UNCHECKED_WAIT_MS - (elapsed() - announcement.at))
  await copyRounds(job, copier)
  await enter(job, 'sealing')
  await handOverGroups(job, copier)
}

/**
 * Hands over what the target has lost, before anything else is copied. One bucket at least is left to hand over: index rows and claims are read at
 * the source until all buckets are handed over, and the target may have lost its own. The wait for processes that have not noticed the
 * move was over before the source gave these buckets up.
 */
async function handOverLost(job: MoveJob, copier: Copier): Promise<void> {
  if (copier.buckets === copier.attempt.buckets) return
  await copyRounds(job, copier)
  await compareCopies(job, copier)
  await handOverGroups(job, copier)
}

/** Lets index rows be read on the target, waits until no query reads the source any more, and ends the announcement. */
async function switchReads(job: MoveJob): Promise<void> {
  const { work, lease } = job
  await enter(job, 'switching')
  await announceTarget(work)
  await lease.sleep(UNCHECKED_WAIT_MS + keptRowsMs(work.context.catalog.current()))
  await endMove(work)
}

/** Deletes what the source gave up. Leaves that to a later call if consumers take long to handle its changes. */
async function empty(job: MoveJob): Promise<void> {
  const { work, lease, tuning } = job
  const { record } = lease
  await enter(job, 'emptying')
  const elapsed = elapsedBy(work.context.time)
  const began = elapsed()
  for (;;) {
    const { entities, rows, awaits } = await inTurn(job, () => emptySource(work))
    record.counts.emptied += entities + rows
    if (awaits.length === 0) break
    record.waitsFor = awaitedText(work.move, awaits)
    if (elapsed() - began >= tuning.consumersMs) {
      // Reports look at the consumers anew while no process has the move.
      record.waitsFor = ''
      return
    }
    await lease.sleep(tuning.pollMs)
  }
  record.waitsFor = ''
  await enter(job, 'done')
}

/** Does work in its turn among the moves of a call. Renews the lease while it waits for the turn. */
async function inTurn<T>(
  { work: { context, signal }, lease, askTurn }: MoveJob,
  does: () => Promise<T>,
): Promise<T> {
  const turn = askTurn()
  try {
    while (!turn.isMine) {
      await context.time.sleep(TURN_MS, signal)
      await lease.saveDue()
    }
    return await does()
  } finally {
    turn.end()
  }
}

async function enter({ work, lease, meter }: MoveJob, step: MoveStep): Promise<void> {
  lease.record.step = step
  if (isLastStep(step)) lease.record.endedAt = work.context.time.now()
  await lease.save()
  meter.report()
}
