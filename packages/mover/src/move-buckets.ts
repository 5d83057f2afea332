import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import { withCallbacks, type LayoutMove } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  announceMove,
  checkStore,
  consumersBehind,
  createThrottle,
  handedOver,
  type MoveWork,
  type PlannedMove,
} from '@looseleaf/protocol/internal'
import { findMove, openMoves, type OpenMove } from './open-moves.ts'
import { claimMove, isLeaseLost, type MoveLease } from './move-lease.ts'
import { namesOf, reported } from './move-events.ts'
import { moveOptionKinds, type MoveOptions, type MoverStore } from './move-options.ts'
import type { MoveJob } from './move-job.ts'
import { moveSteps, type MoveRecord } from './move-record.ts'
import { createMeter } from './progress.ts'
import { readMove, type MoveReport } from './move-report.ts'
import { problemsText } from './plan/move-plan.ts'
import { ownerProblems, problemsOf } from './plan-moves.ts'
import { withRetries } from './retries.ts'
import { TUNING, type Tuned } from './tuning.ts'
import { undo, walkMove } from './walk-move.ts'

/**
 * Moves buckets from one shard to another, while the store is in use: announces the move, copies and compares everything, hands the buckets
 * over in groups, each of which is sealed for the time of its last copy, and deletes them on the source. Returns the report of the move when
 * it is over, or when consumers have had changes to handle on the source for ten seconds (`emptying`); a cleaner deletes the rows later.
 *
 * The call may be interrupted at any point and repeated, in this process or another: the move stays announced, and `resumeMoves` or the same
 * call goes on with it. While another process works on it, the call waits. Throws `BAD_OPTION` for an impossible move; `CONFLICT` if a bucket
 * is in another move, or if copies differ; `ABORTED`; and errors of shards that stay down.
 */
export async function moveBuckets(
  store: MoverStore,
  plan: PlannedMove,
  options: MoveOptions = {},
): Promise<MoveReport> {
  checkStore('moveBuckets', store, options, moveOptionKinds)
  return tunedMoveBuckets(store, plan, options)
}

/** As `moveBuckets`, with a tuning. */
export async function tunedMoveBuckets(
  { context }: MoverStore,
  plan: PlannedMove,
  options: Tuned<MoveOptions> = {},
): Promise<MoveReport> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    const move = await withRetries(context, signal, () => announceMove(context, plan, { signal }))
    return workOn(context, move, taken)
  })
}

/** As `moveBuckets`, after all checks: rejects with every reason against the move at once, before anything is announced. */
export async function moveChecked(
  context: EngineContext,
  plan: PlannedMove,
  options: Tuned<MoveOptions>,
): Promise<MoveReport> {
  const { signal } = options
  const [problem, ...others] = await withRetries(context, signal, async () => [
    ...(await problemsOf(context, plan, { signal })),
    ...(await ownerProblems(context, { signal })),
  ])
  if (problem === undefined) return tunedMoveBuckets({ context }, plan, options)
  if (others.length === 0) throw problem
  const text = problemsText([problem, ...others].map(({ message }) => message))
  throw new LooseleafError(problem.code, text, { cause: problem })
}

/**
 * Goes on with every move of the store that is not over, one after the other: announced ones, ones that are being undone, and sources that
 * still have what they gave up. Returns their reports.
 */
export async function resumeMoves(
  store: MoverStore,
  options: MoveOptions = {},
): Promise<readonly MoveReport[]> {
  checkStore('resumeMoves', store, options, moveOptionKinds)
  return tunedResumeMoves(store, options)
}

/** As `resumeMoves`, with a tuning, and for some of the moves. */
export async function tunedResumeMoves(
  { context }: MoverStore,
  options: Tuned<MoveOptions> = {},
  isWanted: (move: LayoutMove) => boolean = () => true,
): Promise<readonly MoveReport[]> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    const open = await withRetries(context, signal, () => openMoves(context, { signal }))
    const reports: MoveReport[] = []
    for (const { move } of open) if (isWanted(move)) reports.push(await workOn(context, move, taken))
    return reports
  })
}

/**
 * Undoes a move of which no bucket was handed over: the source keeps its buckets, and the copies are deleted. Waits while another process works
 * on the move. Throws `CONFLICT` once a bucket was handed over: finish the move, then move the buckets back. Throws `BAD_OPTION` for a
 * number that is not that of an announced move.
 */
export async function undoMove(
  store: MoverStore,
  id: number,
  options: MoveOptions = {},
): Promise<MoveReport> {
  checkStore('undoMove', store, options, moveOptionKinds)
  return tunedUndoMove(store, id, options)
}

/** As `undoMove`, with a tuning. */
export async function tunedUndoMove(
  { context }: MoverStore,
  id: number,
  options: Tuned<MoveOptions> = {},
): Promise<MoveReport> {
  const { signal } = options
  const found = await withRetries(context, signal, () => findMove(context, id, { signal }))
  if (found === undefined)
    throw new LooseleafError(
      'BAD_OPTION',
      `The store has no move ${id}, or it is over. shards.moves lists the others.`,
    )
  if (found.phase === undefined) throw handedOver(found.move)
  return withCallbacks(options, (taken) => workOn(context, found.move, taken, (job) => undo(job)))
}

/**
 * Deletes what sources of moves still have, as soon as no consumer has to read it. Leaves moves alone that another process works on. Does
 * nothing for moves whose consumers are behind, so it may be called again and again. Returns the reports of moves that are over now.
 */
export async function emptySources(
  context: EngineContext,
  options: Pick<Tuned<MoveOptions>, 'signal' | 'rowsPerSecond'>,
): Promise<readonly MoveReport[]> {
  const { signal } = options
  const reports: MoveReport[] = []
  for (const { move, phase } of await openMoves(context, { signal })) {
    if (phase !== undefined || (await consumersBehind({ context, move, signal })).length > 0) continue
    const lease = await claimed(context, move, options)
    if (lease === undefined) continue
    const work = workOf(context, move, options)
    if (await underLease(work, lease, { ...options, consumersMs: 0 }, walkOpen))
      reports.push(await readMove(context, move, { signal }))
  }
  return reports
}

async function walkOpen(job: MoveJob, found: OpenMove | undefined): Promise<void> {
  if (found !== undefined) await walkMove(job, found.phase)
}

type Walk = (job: MoveJob, found: OpenMove | undefined) => Promise<void>

/** Works on a move under its lease until it is over. Tries again after failures of shards, and after another mover had the move. */
export async function workOn(
  context: EngineContext,
  move: LayoutMove,
  options: Tuned<MoveOptions>,
  walk: Walk = walkOpen,
): Promise<MoveReport> {
  const { signal } = options
  const tuning = { ...TUNING, ...options }
  const work = workOf(context, move, options)
  let isWaiting = false
  let record: MoveRecord | undefined

  /** Returns the report once the move is over; undefined if another mover has it, or has taken it. */
  async function attempt(): Promise<MoveReport | undefined> {
    const lease = await claimed(context, move, options)
    if (lease === undefined) {
      if (!isWaiting) options.onWait?.(await readMove(context, move, { signal }))
      isWaiting = true
      // Another process may finish it meanwhile; then nothing is left to do.
      await context.time.sleep(tuning.pollMs, signal)
      const open = await findMove(context, move.id, { signal })
      return open === undefined ? readMove(context, move, { signal }) : undefined
    }
    isWaiting = false
    record = lease.record
    const isDone = await underLease(work, lease, options, walk)
    return isDone ? readMove(context, move, { signal }) : undefined
  }

  for (;;) {
    const report = await withRetries(context, signal, attempt, () => progressOf(record))
    if (report !== undefined) return report
  }
}

function workOf(context: EngineContext, move: LayoutMove, options: Tuned<MoveOptions>): MoveWork {
  const { signal, rowsPerSecond } = options
  return { context, move, throttle: createThrottle(context.time, rowsPerSecond), signal }
}

function claimed(
  context: EngineContext,
  move: LayoutMove,
  { leaseMs = 30_000, checkpointMs = TUNING.checkpointMs, signal }: Tuned<MoveOptions>,
): Promise<MoveLease | undefined> {
  return claimMove(context, move, { leaseMs, checkpointMs, signal })
}

/** Grows while a move gets on, and not with the few rows that each try copies again. */
function progressOf(record: MoveRecord | undefined): number {
  if (record === undefined) return 0
  const { step, tables, seals, counts } = record
  return moveSteps.indexOf(step) + tables.length + seals.length + Math.floor(counts.entities / 10_000)
}

/**
 * Walks the move, and resolves with true. Resolves with false if another process has taken the move over: a mover that was suspended for longer than
 * its lease may notice that by a refused step before it notices that it has lost the lease.
 */
async function underLease(
  moveWork: MoveWork,
  lease: MoveLease,
  options: Tuned<MoveOptions>,
  walk: Walk,
): Promise<boolean> {
  const work: MoveWork = { ...moveWork, onStatement: () => lease.saveDue() }
  const { context, move, signal } = work
  const { record } = lease
  const meter = createMeter(work, namesOf(work), record, options.onProgress)
  try {
    await reported(work, async () => {
      await context.catalog.reload({ signal })
      const found = await findMove(context, move.id, { signal })
      await walk({ work, lease, meter, tuning: { ...TUNING, ...options } }, found)
      return record.step
    })
  } catch (error) {
    if (isLooseleafError(error) && error.code !== 'ABORTED') record.waitsFor = error.message
    const isHeld = await lease.release()
    if (isLeaseLost(error) || (isLooseleafError(error, 'CONFLICT') && !isHeld)) return false
    throw error
  }
  await lease.release()
  return true
}
