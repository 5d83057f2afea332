import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  bucketsIn,
  elapsedBy,
  withCallbacks,
  type LayoutMove,
  type StoreLayout,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  announceDraining,
  announceMove,
  movableBuckets,
  movableLayout,
  type PlannedMove,
  withdrawDraining,
} from '@looseleaf/protocol/internal'
import { resumeMoves } from './move-buckets.ts'
import { createMoveLine } from './move-line.ts'
import type { MoveOptions } from './move-options.ts'
import type { MoveReport } from './move-report.ts'
import { openMoves } from './open-moves.ts'
import { planMoves } from './plan-moves.ts'
import { problemsText, type CountedMove, type MoveRequest } from './plan/move-plan.ts'
import { withRetries } from './retries.ts'
import { TUNING, type Tuned } from './tuning.ts'
import type { Announcement } from './work-on-move.ts'

/**
 * Drains a shard: announces it, so that no bucket moves there any more, and moves all of its buckets to the other shards. Resolves when the shard owns no bucket, or when another process has stopped the draining. May be interrupted and repeated, also by
 * several processes at once. Throws `CONFLICT` if buckets are left in moves that cannot end now.
 */
export async function drainShard(
  context: EngineContext,
  number: number,
  options: Tuned<MoveOptions> = {},
): Promise<readonly MoveReport[]> {
  return withCallbacks(options, async (taken) => {
    const { signal } = taken
    await withRetries(context, taken, () => announceDraining(context, number, { signal }))
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
  await withRetries(context, { signal }, () => withdrawDraining(context, number, { signal }))
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
 * Walks the moves of a plan in their order. If another process has announced a move of the same buckets meanwhile, that move is walked,
 * and the rest is planned again.
 *
 * Each move waits after its announcement, and after its last group. A move is announced while the ones before it have few rows to copy
 * (`rowsAhead`), and the next one begins to copy when this one has handed its buckets over. So the moves of a plan share these waits.
 */
async function walkPlans(
  context: EngineContext,
  request: MoveRequest,
  options: Tuned<MoveOptions>,
  { goesOn, isOfRequest }: Walking,
): Promise<readonly MoveReport[]> {
  const { signal, rowsPerSecond, rowsAhead = TUNING.rowsAhead } = options
  // A fixed layout would seem to be one that the store does not have yet.
  movableBuckets(context)
  const elapsed = elapsedBy(context.time)
  const layoutNow = async (): Promise<StoreLayout> =>
    movableLayout((await context.catalog.reload({ signal })).layout)
  const reports = new Map<number, MoveReport>()
  for (;;) {
    for (const report of await resumeMoves({ context }, options, isOfRequest)) reports.set(report.id, report)
    const layout = await layoutNow()
    if (!goesOn(layout)) return [...reports.values()]
    const plan = await withRetries(context, options, () =>
      planMoves(context, request, { signal, rowsPerSecond }),
    )
    if (plan.problems.length > 0) {
      // Another process may have changed the layout since the plan began.
      if ((await layoutNow()).revision !== layout.revision) continue
      throw new LooseleafError('CONFLICT', problemsText(plan.problems))
    }
    const line = createMoveLine(context, options)
    const waiting = [...plan.moves]
    let announced: AnnouncedMove[] = []
    let isDone = true
    for (;;) {
      while (isDone && waiting.length > 0 && rowsOf(announced) <= rowsAhead) {
        const [planned] = waiting.splice(0, 1) as [CountedMove]
        const move = goesOn(await layoutNow())
          ? await announcedUnlessTaken(context, planned, options)
          : undefined
        isDone = move !== undefined
        if (move !== undefined) announced.push({ move, planned, announcement: { at: elapsed() } })
      }
      const [next, ...later] = announced
      if (next === undefined || !(await line.begin(next.move, next.announcement))) break
      announced = later
    }
    for (const report of await line.ended()) reports.set(report.id, report)
    if (isDone && (request === 'rebalance' || plan.moves.length === 0)) return [...reports.values()]
  }
}

interface AnnouncedMove {
  readonly move: LayoutMove
  readonly planned: CountedMove
  readonly announcement: Announcement
}

function rowsOf(moves: readonly AnnouncedMove[]): number {
  return moves.reduce((sum, { planned }) => sum + planned.entities + planned.tombstones + planned.rows, 0)
}

/** Announces a move. Resolves with undefined if its buckets are in another move by now. */
async function announcedUnlessTaken(
  context: EngineContext,
  { from, to, buckets }: PlannedMove,
  options: MoveOptions,
): Promise<LayoutMove | undefined> {
  const { signal } = options
  try {
    return await withRetries(context, options, () => announceMove(context, { from, to, buckets }, { signal }))
  } catch (error) {
    if (isLooseleafError(error) && ['CONFLICT', 'BAD_OPTION'].includes(error.code)) return undefined
    throw error
  }
}
