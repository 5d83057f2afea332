import { LooseleafError, type CallOptions } from '@looseleaf/core'
import {
  badOption,
  elapsedBy,
  isOutage,
  withCallbacks,
  withoutRanges,
  type LayoutMove,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  announceMove,
  checkedPlan,
  createThrottle,
  handedOver,
  loadOwn,
  shardAt,
  takeBack,
  type PlannedMove,
} from '@looseleaf/protocol/internal'
import { createMoveLine } from './move-line.ts'
import type { MoveOptions, MoverStore } from './move-options.ts'
import { readMove, type MoveReport } from './move-report.ts'
import { findMove, openMoves } from './open-moves.ts'
import { problemsText } from './plan/move-plan.ts'
import { ownerProblems, problemsOf } from './plan-moves.ts'
import { withRetries } from './retries.ts'
import type { Tuned } from './tuning.ts'
import { undo } from './walk-move.ts'
import { lineOfOne, workOn } from './work-on-move.ts'

/**
 * Moves buckets from one shard to another, while the store is in use: announces the move, copies and compares everything, hands the buckets
 * over in groups, each of which is sealed for the time of its last copy, and deletes them on the source. Returns the report of the move when
 * it is over, or when consumers have had changes to handle on the source for ten seconds (`emptying`); a cleaner deletes the rows later.
 *
 * The call may be interrupted at any point and repeated, in this process or another: the move stays announced until it ends, and the same call
 * or `resumeMoves` goes on with it. While another process works on the move, the call waits. Throws `BAD_OPTION` for an impossible move; `CONFLICT` if a bucket
 * is in another move, or if copies differ; `ABORTED`; and errors of shards that stay down. Rejects with every reason against the move at once,
 * before anything is announced.
 */
export async function moveBuckets(
  { context }: MoverStore,
  plan: PlannedMove,
  options: Tuned<MoveOptions> = {},
): Promise<MoveReport> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    const open = await withRetries(context, taken, () => openMoveOf(context, plan, { signal }))
    if (open !== undefined) return workOn(context, open, taken)
    await withRetries(context, taken, () => requirePossible(context, plan, { signal }))
    const move = await withRetries(context, taken, () => announceMove(context, plan, { signal }))
    const announcement = { at: elapsedBy(context.time)() }
    return workOn(context, move, taken, { line: lineOfOne(context, taken, announcement) })
  })
}

/**
 * Returns the last move of a plan if it was announced and is neither over nor being undone. A move that only has its source to empty is not that
 * of the plan once a later move has brought the buckets back: the call would resolve, and the buckets would stay.
 */
async function openMoveOf(
  context: EngineContext,
  plan: PlannedMove,
  options: CallOptions,
): Promise<LayoutMove | undefined> {
  const open = await openMoves(context, options)
  // A shard that has joined since is known after this.
  const { from, to, buckets } = checkedPlan(context, plan)
  const found = open.findLast(
    ({ move, phase }) =>
      phase !== 'undoing' && move.from === from && move.to === to && move.buckets === buckets,
  )
  if (found === undefined || found.phase !== undefined) return found?.move
  const { serves } = await loadOwn(context, from, options)
  return withoutRanges(buckets, serves.owns) === buckets ? found.move : undefined
}

/** Throws all reasons against a move. */
async function requirePossible(
  context: EngineContext,
  plan: PlannedMove,
  options: CallOptions,
): Promise<void> {
  const [problem, ...others] = [
    ...(await problemsOf(context, plan, options)),
    ...(await ownerProblems(context, options)),
  ]
  if (problem === undefined) return
  if (others.length === 0) throw problem
  const text = problemsText([problem, ...others].map(({ message }) => message))
  throw new LooseleafError(problem.code, text, { cause: problem })
}

/**
 * Goes on with every wanted move of the store that is not over: announced ones, ones that are being undone, and sources that
 * still have what they gave up. Returns their reports.
 */
export async function resumeMoves(
  { context }: MoverStore,
  options: Tuned<MoveOptions> = {},
  isWanted: (move: LayoutMove) => boolean = () => true,
): Promise<readonly MoveReport[]> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    const open = await withRetries(context, taken, () => openMoves(context, { signal }))
    const line = createMoveLine(context, taken)
    for (const { move } of open) if (isWanted(move) && !(await line.begin(move))) break
    return line.ended()
  })
}

/**
 * Undoes a move of which no bucket was handed over: the source keeps its buckets, and the copies are deleted. Waits while another process works
 * on the move. If the target takes no writes, its copies stay, and the report has the state `undoing`: call `resumeMoves` later. Throws `CONFLICT` once a bucket was handed over: finish the move, then move the buckets back. Throws `BAD_OPTION` for a
 * number that is not that of an announced move.
 */
export async function undoMove(
  { context }: MoverStore,
  id: number,
  options: Tuned<MoveOptions> = {},
): Promise<MoveReport> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    const found = await withRetries(context, taken, () => findMove(context, id, { signal }))
    if (found === undefined)
      throw badOption(`The store has no move ${id}, or it is over. shards.moves lists the others.`)
    if (found.phase === undefined) throw handedOver(found.move)
    const { move } = found
    const report = await workOn(context, move, taken, { walk: undo }).catch((error: unknown) =>
      undoWithoutTarget(context, move, taken, error),
    )
    if (report.state !== 'done') return report
    // The call has waited for another process, which has ended the move.
    throw new LooseleafError(
      'CONFLICT',
      `Move ${id} cannot be undone: it has ended. Move the buckets back.`,
      {
        retryable: false,
      },
    )
  })
}

/**
 * Undoes a move whose target takes no writes, not even the lease of the move: its disk is full, or it is read-only. The source keeps its buckets.
 * Resolves with a report that has the error; the copies are deleted by `repair` when the target takes writes again.
 */
async function undoWithoutTarget(
  context: EngineContext,
  move: LayoutMove,
  options: Tuned<MoveOptions>,
  error: unknown,
): Promise<MoveReport> {
  const { signal } = options
  const target = shardAt(context, move.to).name
  if (!isOutage(error) || error.shard !== target) throw error
  const work = { context, move, throttle: createThrottle(context.time, undefined, context.share), signal }
  if (!(await withRetries(context, options, () => takeBack(work)))) throw handedOver(move)
  return { ...(await readMove(context, { ...move, phase: 'undoing' }, { signal })), heldUpBy: error.message }
}
