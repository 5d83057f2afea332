import type { CallOptions } from '@looseleaf/core'
import { unionOfRanges, withoutRanges, type LayoutMove, type ShardServes } from '@looseleaf/core/internal'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine/internal'
import { timeBelowFloor } from '../floor.ts'
import { shardAt } from '../shards.ts'
import { movableLayout } from './announce.ts'
import { bucketsOfMove, changeOwn, hasAttempt, loadOwn, withoutBuckets } from './own-buckets.ts'
import { ownerFaults, type LostDeparture } from './owner-faults.ts'

/**
 * Gives buckets that their shard has lost an owner again. Call it only if an operator has said that the data of the shard is lost for good: a
 * server that came back with these buckets would be a second owner.
 *
 * The call changes nothing while an index is ready. All indexes are `building` after a shard was made anew, because it had lost their tables. A server
 * that only went back to an earlier state has them, and part of the entities.
 *
 * - If the source still has the entities, its move is announced again, and `shards.repair` copies them. Index rows are then read at the source,
 *   which has not got those of later writes.
 * - If the source was told to delete them, the shard serves the buckets without these entities.
 */
export async function acceptLosses(context: EngineContext, options: CallOptions = {}): Promise<void> {
  if (context.catalog.current().indexes.some(({ state }) => state === 'ready')) return
  for (const { buckets, lost, isRepairable } of await ownerFaults(context, options)) {
    if (lost === undefined || isRepairable) continue
    if (lost.emptied === undefined) await announceAgain(context, lost, options)
    else await serveEmpty(context, buckets, lost, options)
  }
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

/** Announces a move in its first phase again. The layout then has its buckets on the source, as before its end. */
async function announceAgain(
  context: EngineContext,
  { from, to, move: id }: LostDeparture,
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
      if (moves.some((each) => each.id === id && each.phase === 'both')) return undefined
      const shards = layout.shards.map((shard, number) => {
        const { buckets: owned = '' } = shard
        if (number === from) return { ...shard, buckets: unionOfRanges(owned, buckets) }
        return number === to ? { ...shard, buckets: withoutRanges(owned, buckets) } : shard
      })
      const others = moves.filter((each) => each.id !== id)
      return { ...contents, layout: { ...layout, revision: revision + 1, shards, moves: [...others, move] } }
    },
    options,
  )
  context.catalog.adopt(catalog)
}
