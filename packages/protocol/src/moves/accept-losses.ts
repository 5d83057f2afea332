import type { CallOptions } from '@looseleaf/core'
import { unionOfRanges, withoutRanges, type LayoutMove, type ShardServes } from '@looseleaf/core/internal'
import {
  changeCatalogContents,
  latestContentsEpoch,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { timeBelowFloor } from '../floor.ts'
import { shardAt } from '../shards.ts'
import { movableLayout } from './announce.ts'
import { bucketsOfMove, changeOwn, hasAttempt, loadOwn, withoutBuckets } from './own-buckets.ts'
import { ownerFaults, type LostDeparture } from './owner-faults.ts'

/**
 * Gives buckets that their shard has lost an owner again. Call it only if an operator has said that the data of the shard is lost for good: a
 * server that came back with these buckets would be a second owner.
 *
 * The call changes nothing for a shard that holds entities, and nothing at all while an index is ready. A shard that was made anew is empty, and all
 * indexes are `building`, because it had lost their tables. A server that only went back to an earlier state has its tables, and part of
 * the entities.
 *
 * - If the source still has the entities, its move is announced again, and `shards.repair` copies them. Index rows are then read at the source,
 *   which has not got those of later writes.
 * - If the source was told to delete them, the shard serves the buckets without these entities. Moves are announced before: a shard without a
 *   record of its own has the buckets that the layout gives to it, and would serve those of its other moves, too.
 */
export async function acceptLosses(context: EngineContext, options: CallOptions = {}): Promise<void> {
  for (;;) {
    const catalog = await context.catalog.reload(options)
    if (catalog.indexes.some(({ state }) => state === 'ready')) return
    const found = await lostForGood(context, options)
    const copied = found.find(({ lost }) => lost.emptied === undefined)
    if (copied !== undefined) await announceAgain(context, copied.lost, latestContentsEpoch(catalog), options)
    else if (found[0] !== undefined) await serveEmpty(context, found[0].buckets, found[0].lost, options)
    else return
  }
}

interface Loss {
  readonly buckets: string
  readonly lost: LostDeparture
}

/** Returns the buckets that no shard owns since an empty one has lost them, and that no announced move copies again. */
async function lostForGood(context: EngineContext, options: CallOptions): Promise<readonly Loss[]> {
  const faults = await ownerFaults(context, options)
  const losses = faults.flatMap(({ buckets, lost, isRepairable }) =>
    lost === undefined || isRepairable ? [] : [{ buckets, lost }],
  )
  const isEmpty = async (number: number): Promise<boolean> =>
    (await shardAt(context, number).entities.pageByAdded(0, 1, { ...options, maxBody: 0 })).length === 0
  const areEmpty = await Promise.all(losses.map(({ lost }) => isEmpty(lost.to)))
  return losses.filter((_, i) => areEmpty[i])
}

async function serveEmpty(
  context: EngineContext,
  buckets: string,
  { from, to, move, attempt, end }: LostDeparture,
  options: CallOptions,
): Promise<void> {
  const begin = 1 + (await timeBelowFloor(shardAt(context, to), options.signal))
  const arrival = { move, attempt, buckets, from, end, begin, afterAddedId: 0 }
  const withArrival = (serves: ShardServes): ShardServes => ({
    ...serves,
    owns: unionOfRanges(serves.owns, buckets),
    coming: withoutBuckets(serves.coming, buckets),
    arrived: [...(withoutBuckets(serves.arrived, buckets) ?? []), arrival],
  })
  await changeOwn(
    context,
    to,
    ({ serves }) => (hasAttempt(serves.arrived, arrival) ? undefined : withArrival(serves)),
    options,
  )
}

/**
 * Announces a move in its first phase again. The layout then has its buckets on the source, as before its end. Changes nothing if the catalog has
 * other contents than those by which the buckets were lost: another process may have announced the move, and have ended it.
 */
async function announceAgain(
  context: EngineContext,
  { from, to, move: id }: LostDeparture,
  contentsEpoch: number,
  options: CallOptions,
): Promise<void> {
  const { serves } = await loadOwn(context, from, options)
  const buckets = bucketsOfMove(serves.away, id)
  const move: LayoutMove = { id, from, to, buckets, phase: 'both' }
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
