import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import {
  bucketsIn,
  rangesInclude,
  unionOfRanges,
  withoutRanges,
  type AwayBuckets,
  type LayoutMove,
  type LayoutShard,
  type StoreLayout,
} from '@looseleaf/core/internal'
import {
  changeCatalogContents,
  loadShardCatalogs,
  mergeCatalogs,
  presentNumbers,
  propagateCatalog,
  type Catalog,
  type CatalogContents,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { badMove, checkedPlan, type PlannedMove } from './checked-plan.ts'
import type { MoveWork } from './move-work.ts'
import { bucketsOfMove, durableOwn, isSameMove, loadOwn, type OwnBuckets } from './own-buckets.ts'

/** Announcements that other processes undo, or outrun, in a row after which `announceMove` gives up. */
const MAX_TRIES = 50

/**
 * Announces a move in the catalogs of all shards, with the phase `both`. Resolves when every shard has it: from then on no entity is
 * committed unless its index rows and claims were written on the source and on the target. Returns the announced move if there is one
 * with the same shards and buckets already, also if that ends during the call: its buckets are where the caller wants them.
 *
 * Why all shards have to know it before rows are copied:
 * 1. A row is copied from the source to the target.
 * 2. A writer that does not know the move writes a row on the source alone, at a place that the copy has passed.
 * 3. The writer commits its entity. Later the row is read at the target, and is missing there.
 *
 * Throws `BAD_OPTION` for a move that is impossible, and `CONFLICT` if a bucket is in another move, or in one that is being undone, if a shard has
 * not deleted the entities of one of the buckets that it gave up, or if other processes change the layout each time.
 */
export async function announceMove(
  context: EngineContext,
  planned: PlannedMove,
  options: CallOptions = {},
): Promise<LayoutMove> {
  const plan = checkedPlan(context, planned)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    // By a record of deletes that a crash undoes, a later mover would begin the deletes when the buckets are in this move.
    const { revision: emptiedAt, lastMove } = await requireEmptied(context, plan, (number) =>
      durableOwn(context, number, options),
    )
    let announced: LayoutMove | undefined
    const catalog = await changeCatalogContents(
      context.driver,
      (contents) => {
        const found = movableLayout(contents.layout)
        const { revision, moves = [] } = found
        announced = moves.find((move) => isKept(move, plan))
        // Moves that have ended since may have left entities where the look found none.
        if (announced !== undefined || revision !== emptiedAt) return undefined
        for (const check of layoutChecks) check(found, plan)
        // A failover may have lost the announcement of a move that shards still have records of.
        const id = 1 + Math.max(revision, lastMove)
        announced = { id, ...plan, phase: 'both' }
        return { ...contents, layout: { ...found, revision: id, moves: [...moves, announced] } }
      },
      { ...options, holds: (contents) => hadMove(contents, announced) },
    )
    context.catalog.adopt(catalog)
    // A crash may have undone the announcement of another process that was found, and another move may have got its number.
    if (announced !== undefined && stands(catalog, announced)) return announced
  }
  throw new LooseleafError(
    'CONFLICT',
    `Other processes changed the layout ${MAX_TRIES} times in a row, so the move of buckets ${plan.buckets} was not announced. Try again when they are done.`,
  )
}

/**
 * Completes the announcement of a move whose process may have died before every shard had it, so that no entity is committed by a catalog
 * without it: `announceMove` has the interleaving. Resolves when every shard has it.
 */
export async function completeAnnouncement({
  context,
  signal,
}: Pick<MoveWork, 'context' | 'signal'>): Promise<void> {
  context.catalog.adopt(await propagateCatalog(context.driver, { signal }))
}

/**
 * Returns the errors for which `announceMove` would reject, all of them, by the catalogs as they are now. Changes nothing. Throws
 * `BAD_OPTION` for a plan that names no shards or buckets of the store, and errors of shards that do not answer.
 */
export async function objectionsTo(
  context: EngineContext,
  planned: PlannedMove,
  options: CallOptions = {},
): Promise<readonly LooseleafError[]> {
  // A shard that has joined since is known after this.
  const { layout } = mergeCatalogs(await loadShardCatalogs(context.driver, options))
  const plan = checkedPlan(context, planned)
  const found = movableLayout(layout)
  if (found.moves?.some((move) => isKept(move, plan))) return []
  const checks: readonly (() => Promise<void>)[] = [
    ...layoutChecks.map((check) => async () => check(found, plan)),
    async () => void (await requireEmptied(context, plan, (number) => loadOwn(context, number, options))),
  ]
  const errors: LooseleafError[] = []
  for (const check of checks) {
    await check().catch((error: unknown) => {
      if (!isLooseleafError(error) || !['BAD_OPTION', 'CONFLICT'].includes(error.code)) throw error
      errors.push(error)
    })
  }
  return errors
}

/**
 * Announces the phase `target`: index rows are read on the target. Call it after every bucket has its new owner, and after all rows and
 * claims were copied and compared. Repeatable.
 */
export function announceTarget(work: MoveWork): Promise<void> {
  return changePhase(work, ['both', 'undoing'], 'target')
}

/**
 * Announces the phase `undoing`. The places of rows stay those of `both`; the shard that gives buckets up accepts no further step of the
 * move. The target may lack the change if it takes no writes: it owns none of the buckets, and the places of its phase include the source.
 * Repeatable.
 */
export function announceUndo(work: MoveWork): Promise<void> {
  return changePhase(work, ['both'], 'undoing', work.move.to)
}

/** Returns a move that cannot be undone any more to the phase `both`. The target may lack the change, as with `announceUndo`. Repeatable. */
export function withdrawUndo(work: MoveWork): Promise<void> {
  return changePhase(work, ['undoing'], 'both', work.move.to)
}

/**
 * Ends a move: the layout gives its buckets to the target, and the announcement goes. Rows are then written on the target alone. Call it
 * when no process reads rows on the source any more: `UNCHECKED_WAIT_MS` and the time of a query after `announceTarget`. Without this wait:
 * 1. A query that began before the announcement reads rows on the source.
 * 2. A writer that knows that the move has ended writes a row on the target alone, and commits.
 * 3. The query misses the entity, although it was acknowledged before the query got there.
 */
export function endMove(work: MoveWork): Promise<void> {
  return changeMove(work, ({ layout, move }) => {
    if (move === undefined) return undefined
    const { from, to, buckets } = move
    const shards = layout.shards.map((shard, number) => {
      const { buckets: owned = '' } = shard
      if (number === from) return { ...shard, buckets: withoutRanges(owned, buckets) }
      if (number !== to) return shard
      return { ...shard, buckets: unionOfRanges(owned, buckets) }
    })
    return { ...withoutMove(layout, move), shards }
  })
}

/**
 * Removes the announcement of a move that was undone; the layout keeps its buckets on the source. The target may lack the change if it takes no
 * writes. Repeatable.
 */
export function withdrawMove(work: MoveWork): Promise<void> {
  return changeMove(work, ({ layout, move }) => move && withoutMove(layout, move), work.move.to)
}

async function changeMove(
  { context, move: known, signal }: MoveWork,
  change: (found: {
    readonly layout: StoreLayout
    readonly move: LayoutMove | undefined
  }) => StoreLayout | undefined,
  mayLack?: number,
): Promise<void> {
  const catalog = await changeCatalogContents(
    context.driver,
    (contents) => {
      const layout = movableLayout(contents.layout)
      const changed = change({ layout, move: layout.moves?.find((move) => isSameMove(move, known)) })
      return changed && { ...contents, layout: changed }
    },
    { signal, mayLack },
  )
  context.catalog.adopt(catalog)
}

function changePhase(
  work: MoveWork,
  from: readonly LayoutMove['phase'][],
  phase: LayoutMove['phase'],
  mayLack?: number,
): Promise<void> {
  return changeMove(
    work,
    ({ layout, move }) => {
      if (move === undefined || !from.includes(move.phase)) return undefined
      return {
        ...layout,
        moves: layout.moves?.map((each) => (each.id === move.id ? { ...move, phase } : each)),
      }
    },
    mayLack,
  )
}

/** Returns the next revision of a layout, without the announcement of a move. */
function withoutMove(layout: StoreLayout, { id }: LayoutMove): StoreLayout {
  return {
    ...layout,
    moves: layout.moves?.filter((move) => move.id !== id),
    revision: layout.revision + 1,
  }
}

/** Reasons why shards in these states take no buckets. */
const NO_TARGET: Readonly<Record<NonNullable<LayoutShard['state']>, string>> = {
  joining: 'is joining the store. Add it again to finish that',
  draining: 'is being drained, so no bucket moves there. Stop the draining first',
  removed: 'was removed',
}

/** Tells whether a layout has a move, or may have its end: the target has the buckets then. */
function hadMove({ layout }: Pick<CatalogContents, 'layout'>, announced: LayoutMove | undefined): boolean {
  if (announced === undefined) return false
  const { to, buckets } = announced
  return hasMove(layout, announced) || rangesInclude(layout?.shards[to]?.buckets ?? '', buckets)
}

function hasMove(layout: StoreLayout | undefined, announced: LayoutMove): boolean {
  return layout?.moves?.some((move) => move.id === announced.id && isSame(move, announced)) === true
}

/**
 * Tells whether a move is announced, or has ended: the target then has a record of its arrival. The layout alone does not tell that:
 * 1. A failover loses an announcement. Another process announces a move with the same number and more buckets, and ends it.
 * 2. The target has the buckets. A mover of the first move would replace the saved progress of the other one by its own.
 */
function stands({ layout, shards }: Catalog, announced: LayoutMove): boolean {
  const { id, to, buckets } = announced
  if (hasMove(layout, announced)) return true
  return bucketsOfMove(shards[to]?.serves?.arrived, id) === buckets
}

function isSame(move: LayoutMove, { from, to, buckets }: PlannedMove): boolean {
  return move.from === from && move.to === to && move.buckets === buckets
}

/** Tells whether an announced move brings the buckets of a plan to its target. A move that is being undone leaves them at its source. */
function isKept(move: LayoutMove, plan: PlannedMove): boolean {
  return isSame(move, plan) && move.phase !== 'undoing'
}

/** Checks of a plan against the layout. Each throws. */
const layoutChecks: readonly ((layout: StoreLayout, plan: PlannedMove) => void)[] = [
  requireUnannounced,
  requireServing,
  requireOwned,
]

function requireUnannounced({ moves = [] }: StoreLayout, { buckets }: PlannedMove): void {
  const other = moves.find((move) => withoutRanges(buckets, move.buckets) !== buckets)
  if (other === undefined) return
  const rest =
    other.phase === 'undoing'
      ? ', which is being undone. Try again when it is; shards.repair goes on with an undo that was interrupted.'
      : '. Wait until it has ended, or undo it.'
  throw new LooseleafError(
    'CONFLICT',
    `Some of these buckets are in move ${other.id}, from shard ${other.from} to shard ${other.to}${rest}`,
  )
}

function requireServing({ shards }: StoreLayout, { to }: PlannedMove): void {
  const state = shards[to]?.state
  if (state !== undefined) throw badMove(`shard ${to} ${NO_TARGET[state]}`)
}

function requireOwned({ shards }: StoreLayout, { from, buckets }: PlannedMove): void {
  const owned = shards[from]?.buckets ?? ''
  if (rangesInclude(owned, buckets)) return
  const missing = bucketsIn(withoutRanges(buckets, owned)).length
  throw badMove(`shard ${from} does not have ${missing} of these buckets`)
}

/**
 * Refuses a move of buckets before every shard that gave them up has deleted their entities. Followers of changes may still have to read
 * these, and the order of the changes of an entity would have to be known over three shards. Returns the least revision of the layout among
 * the shards when they were looked at, and the greatest number of a move of which a shard has a record.
 */
async function requireEmptied(
  context: EngineContext,
  { buckets }: Pick<PlannedMove, 'buckets'>,
  load: (number: number) => Promise<OwnBuckets>,
): Promise<{ readonly revision: number; readonly lastMove: number }> {
  const isFull = (record: AwayBuckets): boolean =>
    record.emptied === undefined && withoutRanges(buckets, record.buckets) !== buckets
  const all = await Promise.all(presentNumbers(context.driver).map(load))
  for (const { catalog, serves } of all) {
    const shard = catalog.shardNumber
    const full = serves.away?.find(isFull)
    if (full === undefined) continue
    throw new LooseleafError(
      'CONFLICT',
      `Shard ${shard} gave some of these buckets up in move ${full.move}, and has not deleted their entities yet. Finish that move first: call shards.repair. shards.moves names the consumers that it waits for.`,
    )
  }
  const records = all.flatMap(({ serves: { coming = [], leaving = [], away = [] } }) => [
    ...coming,
    ...leaving,
    ...away,
  ])
  return {
    revision: Math.min(...all.map(({ catalog }) => catalog.layout?.revision ?? -1)),
    lastMove: Math.max(0, ...records.map(({ move }) => move)),
  }
}

/** Returns a layout whose buckets can move. Throws `NOT_MIGRATED` for a store without one. */
export function movableLayout(layout: StoreLayout | undefined): StoreLayout {
  if (layout?.scheme !== undefined) return layout
  throw new LooseleafError(
    'NOT_MIGRATED',
    'The catalog of this store has no layout yet. Open the store with `migrate: true`, or run `looseleaf init`.',
  )
}
