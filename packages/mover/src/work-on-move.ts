import { isLooseleafError } from '@looseleaf/core'
import { isOfShard, type LayoutMove } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { consumersBehind, createThrottle, type MoveWork, type Throttle } from '@looseleaf/protocol/internal'
import { createTurns, type AskTurn } from './turns.ts'
import { findAgain, openMoves, type OpenMove } from './open-moves.ts'
import { claimMove, isLeaseLost, type MoveLease } from './move-lease.ts'
import { namesOf, reported } from './move-events.ts'
import type { MoveOptions } from './move-options.ts'
import type { MoveJob } from './move-job.ts'
import { moveSteps, type MoveRecord } from './move-record.ts'
import { createMeter } from './progress.ts'
import { readMove, type MoveReport } from './move-report.ts'
import { withRetries } from './retries.ts'
import { TUNING, type Tuned } from './tuning.ts'
import { walkMove } from './walk-move.ts'

/** Work of one call that has several moves. */
export interface SharedWork {
  /** Copies and deletes of all moves of the call, so that a rate limit holds for them together. */
  readonly throttle: Throttle
  /** Turns for everything but waits. */
  readonly askTurn: AskTurn
}

/** The time by which all shards had the announcement of a move, by the clock of `elapsedBy`; undefined while it is unknown. */
export interface Announcement {
  at: number | undefined
}

/** A move of a call with several. */
export interface MoveInLine extends SharedWork {
  readonly announcement: Announcement
  /** Called when the move has handed its buckets over, and only waits and deletes from now on. */
  readonly onHandedOver?: (() => void) | undefined
}

/** Walks a move that is not over, from its present phase. */
type Walk = (job: MoveJob, phase: OpenMove['phase']) => Promise<void>

/** Works on a move under its lease until it is over. Tries again after failures of shards, and after another mover had the move. */
export async function workOn(
  context: EngineContext,
  move: LayoutMove,
  options: Tuned<MoveOptions>,
  { walk = walkMove, line = lineOfOne(context, options) }: { walk?: Walk; line?: MoveInLine } = {},
): Promise<MoveReport> {
  const { signal } = options
  const work = { context, move, throttle: line.throttle, signal }
  let isWaiting = false
  let record: MoveRecord | undefined
  let owner = context.random.uuid()

  /** Returns the report once the move is over; undefined if another mover has it, or has taken it. */
  async function attempt(): Promise<MoveReport | undefined> {
    // A claim without an answer may have taken place. Under another name the call would wait for its own lease.
    const lease = await claimed(context, move, options, owner)
    if (lease === undefined) {
      if (!isWaiting) options.onWait?.(await readMove(context, move, { signal }))
      isWaiting = true
      // Another process may finish it meanwhile; then nothing is left to do.
      await context.time.sleep(options.pollMs ?? TUNING.pollMs, signal)
      const open = await findAgain(context, move, { signal })
      return open === undefined ? readMove(context, move, { signal }) : undefined
    }
    isWaiting = false
    // A late save of this lease must not count as one of the next.
    owner = context.random.uuid()
    record = lease.record
    const isDone = await underLease(work, lease, options, walk, line)
    return isDone ? readMove(context, move, { signal }) : undefined
  }

  for (;;) {
    const report = await withRetries(context, options, attempt, () => progressOf(record))
    if (report !== undefined) return report
  }
}

export function sharedWork(context: EngineContext, { rowsPerSecond }: Tuned<MoveOptions>): SharedWork {
  return { throttle: createThrottle(context.time, rowsPerSecond, context.share), askTurn: createTurns() }
}

/** The line of a call with one move at a time. */
export function lineOfOne(
  context: EngineContext,
  options: Tuned<MoveOptions>,
  announcement: Announcement = { at: undefined },
): MoveInLine {
  return { ...sharedWork(context, options), announcement }
}

function claimed(
  context: EngineContext,
  move: LayoutMove,
  { leaseMs = 30_000, checkpointMs = TUNING.checkpointMs, signal }: Tuned<MoveOptions>,
  owner: string,
): Promise<MoveLease | undefined> {
  return claimMove(context, move, { owner, leaseMs, checkpointMs, signal })
}

/** Measures the progress of a move by its steps, tables, groups and tens of thousands of entities. Rows that each try copies again are too few to count. */
export function progressOf(record: MoveRecord | undefined): number {
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
  { askTurn, announcement, onHandedOver }: MoveInLine,
): Promise<boolean> {
  const work: MoveWork = { ...moveWork, onStatement: () => lease.saveDue() }
  const { context, move, signal } = work
  const { record } = lease
  const meter = createMeter(work, namesOf(work), record, options.onProgress)
  try {
    await reported(work, async () => {
      await context.catalog.reload({ signal })
      const found = await findAgain(context, move, { signal })
      const tuning = { ...TUNING, ...options }
      const job = { work, lease, meter, tuning, askTurn, announcement, onHandedOver }
      if (found !== undefined) await walk(job, found.phase)
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

/**
 * Deletes what sources of moves still have, as soon as no consumer has to read it. Leaves moves alone that another process works on. Does
 * nothing for moves whose consumers are behind, so it may be called again and again. Returns the reports of moves that are over now. An
 * error of one move is thrown after the work on all others, such as of one whose target has lost its buckets.
 */
export async function emptySources(
  context: EngineContext,
  options: Pick<Tuned<MoveOptions>, 'signal' | 'rowsPerSecond'>,
): Promise<readonly MoveReport[]> {
  const { signal } = options
  const line = lineOfOne(context, options)
  const reports: MoveReport[] = []
  const errors: unknown[] = []
  const emptyOne = async (move: LayoutMove): Promise<void> => {
    if ((await consumersBehind({ context, move, signal })).length > 0) return
    const lease = await claimed(context, move, options, context.random.uuid())
    if (lease === undefined) return
    const work = { context, move, throttle: line.throttle, signal }
    const isOver = await underLease(work, lease, { ...options, consumersMs: 0 }, walkMove, line)
    if (isOver) reports.push(await readMove(context, move, { signal }))
  }
  for (const { move, phase } of await openMoves(context, { signal })) {
    if (phase !== undefined) continue
    await emptyOne(move).catch((error: unknown) => {
      if (!isOfShard(error)) throw error
      errors.push(error)
    })
  }
  if (errors.length > 0) throw errors[0]
  return reports
}
