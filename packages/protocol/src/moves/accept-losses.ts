import type { CallOptions } from '@looseleaf/core'
import {
  unionOfRanges,
  withoutRanges,
  type AwayBuckets,
  type LayoutMove,
  type StoreLayout,
} from '@looseleaf/core/internal'
import {
  changeCatalogContents,
  latestContentsEpoch,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { timeBelowFloor } from '../floor.ts'
import { shardAt } from '../shards.ts'
import { movableLayout } from './announce.ts'
import {
  announcedIn,
  arrivedSince,
  bucketsOfMove,
  changeOwn,
  hasAttempt,
  loadOwn,
  ofMove,
  withArrivals,
  withoutBuckets,
  type OwnBuckets,
} from './own-buckets.ts'
import { ownerFaults, type LostDeparture } from './owner-faults.ts'

/**
 * Gives buckets that their shard has lost an owner again. Call it only if an operator has said that the data of the shard is lost for good: a
 * server that came back with these buckets would be a second owner.
 *
 * The call changes nothing for a shard that holds entities. It gives nothing up while an index is ready: a shard that was made anew is empty, and all
 * indexes are `building`, because it had lost their tables. A server that only went back to an earlier state has its tables, and part of
 * the entities.
 *
 * - If the source still has the entities, its move is announced again, and `shards.repair` copies them. Index rows are then read at the source,
 *   which has not got those of later writes.
 * - If the source was told to delete them, the shard serves the buckets without these entities. If the shard has passed them on to another one
 *   that is lost too, that one does.
 * - If the shard itself was the source of an announced move, it gets its records of the groups that the target has begun with. If the target is lost
 *   too, the move is announced again.
 */
export async function acceptLosses(context: EngineContext, options: CallOptions = {}): Promise<void> {
  for (;;) {
    const catalog = await context.catalog.reload(options)
    const { layout, indexes } = catalog
    if (layout === undefined) return
    for (const move of layout.moves ?? []) await recordDepartures(context, move, options)
    if (indexes.some(({ state }) => state === 'ready')) return
    const found = await lostForGood(context, layout, options)
    const copied = found.find(({ lost }) => lost.emptied === undefined)
    const again = copied
      ? await lostMove(context, copied.lost, options)
      : await unbegun(context, layout, options)
    if (again !== undefined) await announceAgain(context, again, latestContentsEpoch(catalog), options)
    else if (found[0] !== undefined) await serveEmpty(context, found[0], options)
    else return
  }
}

interface Loss {
  readonly buckets: string
  readonly lost: LostDeparture
  /** Number of the shard that is to have the buckets: the one that lost them, or the one of the layout if their source was told to delete them. */
  readonly owner: number
}

/** Returns the buckets that no shard owns since empty ones have lost them, and that no announced move copies again. */
async function lostForGood(
  context: EngineContext,
  { shards }: StoreLayout,
  options: CallOptions,
): Promise<readonly Loss[]> {
  const faults = await ownerFaults(context, options)
  const losses = faults.flatMap(({ buckets, lost, isRepairable }): readonly Loss[] => {
    if (lost === undefined || isRepairable) return []
    if (lost.emptied === undefined) return [{ buckets, lost, owner: lost.to }]
    return shards.flatMap(({ buckets: owned = '' }, owner) => {
      const some = withoutRanges(buckets, withoutRanges(buckets, owned))
      return some === '' ? [] : [{ buckets: some, lost, owner }]
    })
  })
  // A shard that has passed the buckets on need not be empty: it may have got other entities since it was made anew.
  const areEmpty = await Promise.all(losses.map(({ owner }) => isEmpty(context, owner, options)))
  return losses.filter((_, i) => areEmpty[i])
}

async function isEmpty(context: EngineContext, number: number, options: CallOptions): Promise<boolean> {
  const page = await shardAt(context, number).entities.pageByAdded(0, 1, { ...options, maxBody: 0 })
  return page.length === 0
}

/**
 * Records the groups that an empty source has given up in an announced move, by the records of the target. A source that was made anew seems to own
 * all of its buckets in the layout, and no mover could go on.
 */
async function recordDepartures(
  context: EngineContext,
  move: LayoutMove,
  options: CallOptions,
): Promise<void> {
  const { from, to, id } = move
  const { serves } = await loadOwn(context, to, options)
  const begun = ofMove(serves.arrived, id)
  const lackedBy = (source: OwnBuckets): readonly AwayBuckets[] => {
    // By the announcement the source was not told to delete the entities.
    if (announcedIn(source, move) === undefined) return []
    const known = bucketsOfMove(source.serves.away, id)
    const lacked = withoutBuckets(begun, known) ?? []
    return lacked.map(({ attempt, buckets, end }) => ({ move: id, attempt, buckets, to, end }))
  }
  if (lackedBy(await loadOwn(context, from, options)).length === 0) return
  if (!(await isEmpty(context, from, options))) return
  await changeOwn(
    context,
    from,
    (source) => {
      const lacked = lackedBy(source)
      if (lacked.length === 0) return undefined
      const { owns, away = [] } = source.serves
      const buckets = unionOfRanges(...lacked.map((record) => record.buckets))
      return { ...source.serves, owns: withoutRanges(owns, buckets), away: [...away, ...lacked] }
    },
    options,
  )
}

async function serveEmpty(
  context: EngineContext,
  { buckets, lost: { from, move, attempt, end }, owner }: Loss,
  options: CallOptions,
): Promise<void> {
  const begin = 1 + (await timeBelowFloor(shardAt(context, owner), options.signal))
  const arrival = { move, attempt, buckets, from, end, begin, afterAddedId: 0 }
  await changeOwn(
    context,
    owner,
    ({ serves }) =>
      hasAttempt(serves.arrived, arrival)
        ? undefined
        : { ...withArrivals(serves, [arrival]), coming: withoutBuckets(serves.coming, buckets) },
    options,
  )
}

/** A move that begins once more with these buckets. */
type LostMove = Omit<LayoutMove, 'phase'>

/** Returns a move whose target has lost the buckets that the source gave up. */
async function lostMove(
  context: EngineContext,
  { from, to, move: id }: LostDeparture,
  options: CallOptions,
): Promise<LostMove> {
  const { serves } = await loadOwn(context, from, options)
  return { id, from, to, buckets: bucketsOfMove(serves.away, id) }
}

/**
 * Returns an announced move whose rows are read at the target, although neither of its empty shards has a record of a hand-over. Its mover would go
 * on as if the target served the buckets.
 */
async function unbegun(
  context: EngineContext,
  { moves = [] }: StoreLayout,
  options: CallOptions,
): Promise<LostMove | undefined> {
  for (const { phase, ...move } of moves) {
    if (phase !== 'target') continue
    const { id, from, to, buckets } = move
    const [source, target] = await Promise.all([
      loadOwn(context, from, options),
      loadOwn(context, to, options),
    ])
    const [away, arrived] = [bucketsOfMove(source.serves.away, id), bucketsOfMove(target.serves.arrived, id)]
    if (withoutRanges(buckets, unionOfRanges(away, arrived)) === '') continue
    if ((await isEmpty(context, from, options)) && (await isEmpty(context, to, options))) return move
  }
  return undefined
}

/**
 * Takes buckets of a move from a shard that has no record of their arrival. A shard that was made anew has those of the layout in the record of its
 * first change, and would refuse their copies.
 */
function takeUnbegun(
  context: EngineContext,
  { id, to, buckets }: LostMove,
  options: CallOptions,
): Promise<OwnBuckets> {
  return changeOwn(
    context,
    to,
    ({ serves }) => {
      const owns = withoutRanges(serves.owns, withoutRanges(buckets, arrivedSince(serves, id)))
      return owns === serves.owns ? undefined : { ...serves, owns }
    },
    options,
  )
}

/**
 * Announces a move in its first phase again. The layout then has its buckets on the source, as before its end. Changes nothing if the catalog has
 * other contents than those by which the buckets were lost: another process may have announced the move, and have ended it.
 */
async function announceAgain(
  context: EngineContext,
  lost: LostMove,
  contentsEpoch: number,
  options: CallOptions,
): Promise<void> {
  const { id, from, to, buckets } = lost
  await takeUnbegun(context, lost, options)
  const move: LayoutMove = { ...lost, phase: 'both' }
  const catalog = await changeCatalogContents(
    context.driver,
    (contents) => {
      const layout = movableLayout(contents.layout)
      const { moves = [], revision } = layout
      const shards = layout.shards.map((shard, number) => {
        const { buckets: owned = '' } = shard
        if (number === from) return { ...shard, buckets: unionOfRanges(owned, buckets) }
        return number === to ? { ...shard, buckets: withoutRanges(owned, buckets) } : shard
      })
      const others = moves.filter((each) => each.id !== id)
      return { ...contents, layout: { ...layout, revision: revision + 1, shards, moves: [...others, move] } }
    },
    { ...options, contentsEpoch },
  )
  context.catalog.adopt(catalog)
}
