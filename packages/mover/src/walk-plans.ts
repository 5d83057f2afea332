import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import { bucketsIn, withCallbacks, type LayoutMove, type StoreLayout } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  announceDraining,
  announceMove,
  movableLayout,
  type PlannedMove,
  withdrawDraining,
} from '@looseleaf/protocol/internal'
import { tunedResumeMoves, workOn } from './move-buckets.ts'
import type { MoveOptions } from './move-options.ts'
import type { MoveReport } from './move-report.ts'
import { openMoves } from './open-moves.ts'
import { planMoves } from './plan-moves.ts'
import { problemsText, type MoveRequest } from './plan/move-plan.ts'
import { withRetries } from './retries.ts'
import type { Tuned } from './tuning.ts'

/**
 * Drains a shard: announces it, so that no bucket moves there any more, and moves all of its buckets to the other shards, one move after the
 * other. Resolves when the shard owns no bucket, or when another process has stopped the draining. May be interrupted and repeated, also by
 * several processes at once. Throws `CONFLICT` if buckets are left in moves that cannot end now.
 */
export async function drainShard(
  context: EngineContext,
  number: number,
  options: Tuned<MoveOptions> = {},
): Promise<readonly MoveReport[]> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    await withRetries(context, signal, () => announceDraining(context, number, { signal }))
    const left = ({ shards }: StoreLayout): number =>
      shards[number]?.state === 'draining' ? bucketsIn(shards[number].buckets ?? '').length : 0
    const reports = await walkPlans(context, { drain: number }, taken, {
      goesOn: (layout) => left(layout) > 0,
      isOfRequest: ({ from, to }) => from === number || to === number,
    })
    const rest = left(movableLayout(context.catalog.current().layout))
    if (rest === 0) return reports
    const open = await openMoves(context, { signal })
    const waiting = open.map(({ move }) => move.id).join(', ')
    throw new LooseleafError(
      'CONFLICT',
      `Shard ${number} still has ${rest} buckets of moves that are not over (${waiting}). Call shards.moves for the reasons, and drain the shard again when these moves are over.`,
    )
  })
}

/** Lets a shard take buckets again. A move that is under way goes on. */
export async function stopDraining(
  context: EngineContext,
  number: number,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const { signal } = options
  await withRetries(context, signal, () => withdrawDraining(context, number, { signal }))
}

/** Moves buckets until all shards that take buckets have about the same number of bytes. Goes on with every move that is not over first. */
export async function rebalanceShards(
  context: EngineContext,
  options: Tuned<MoveOptions> = {},
): Promise<readonly MoveReport[]> {
  return withCallbacks(options, (taken) =>
    walkPlans(context, 'rebalance', taken, { goesOn: () => true, isOfRequest: () => true }),
  )
}

interface Walking {
  /** Tells by the present layout whether the request still has to be fulfilled. */
  readonly goesOn: (layout: StoreLayout) => boolean
  /** Tells whether a move that is not over comes before the plan. */
  readonly isOfRequest: (move: LayoutMove) => boolean
}

/**
 * Walks the moves of a plan, one after the other. If another process has announced a move of the same buckets meanwhile, that move is walked,
 * and the rest is planned again.
 */
async function walkPlans(
  context: EngineContext,
  request: MoveRequest,
  options: Tuned<MoveOptions>,
  { goesOn, isOfRequest }: Walking,
): Promise<readonly MoveReport[]> {
  const { signal, rowsPerSecond } = options
  const layoutNow = async (): Promise<StoreLayout> =>
    movableLayout((await context.catalog.reload({ signal })).layout)
  const reports = new Map<number, MoveReport>()
  for (;;) {
    for (const report of await tunedResumeMoves({ context }, options, isOfRequest))
      reports.set(report.id, report)
    const layout = await layoutNow()
    if (!goesOn(layout)) return [...reports.values()]
    const plan = await withRetries(context, signal, () =>
      planMoves(context, request, { signal, rowsPerSecond }),
    )
    if (plan.problems.length > 0) {
      // Another process may have changed the layout since the plan began.
      if ((await layoutNow()).revision !== layout.revision) continue
      throw new LooseleafError('CONFLICT', problemsText(plan.problems))
    }
    let isDone = true
    for (const planned of plan.moves) {
      const move = goesOn(await layoutNow())
        ? await announcedUnlessTaken(context, planned, signal)
        : undefined
      isDone = move !== undefined
      if (move === undefined) break
      reports.set(move.id, await workOn(context, move, options))
    }
    if (isDone && (request === 'rebalance' || plan.moves.length === 0)) return [...reports.values()]
  }
}

/** Announces a move. Resolves with undefined if its buckets are in another move by now. */
async function announcedUnlessTaken(
  context: EngineContext,
  { from, to, buckets }: PlannedMove,
  signal: AbortSignal | undefined,
): Promise<LayoutMove | undefined> {
  try {
    return await withRetries(context, signal, () => announceMove(context, { from, to, buckets }, { signal }))
  } catch (error) {
    if (isLooseleafError(error) && ['CONFLICT', 'BAD_OPTION'].includes(error.code)) return undefined
    throw error
  }
}
