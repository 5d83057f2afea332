import type { CallOptions } from '@looseleaf/core'
import {
  bucketsIn,
  counted,
  type CatalogEntry,
  type ShardServes,
  type StoreLayout,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { openMoves } from '@looseleaf/mover/internal'
import { consumersOn, shardAt } from '@looseleaf/protocol/internal'

/** Returns the reasons in the catalog of the store for which a shard cannot be removed. Each is the end of a sentence. */
export function layoutObstacles(
  { shards, moves = [] }: StoreLayout,
  indexes: readonly CatalogEntry[],
  number: number,
): readonly string[] {
  const obstacles: string[] = []
  const count = bucketsIn(shards[number]?.buckets ?? '').length
  if (count > 0)
    obstacles.push(
      `it has ${counted(count, 'bucket')}: move ${count === 1 ? 'it' : 'them'} to other shards first (call shards.drain(${number}))`,
    )
  for (const { id } of moves.filter(({ from, to }) => from === number || to === number))
    obstacles.push(`move ${id} is not over`)
  const present = Array.from(shards.keys()).filter((each) => shards[each]?.state !== 'removed')
  if (present.length === 1) obstacles.push('it is the only shard of the store')
  const filled = indexes.find(({ state }) => state === 'building')
  // The records of a filling are on the leading shard.
  if (present[0] === number && filled !== undefined)
    obstacles.push(`index ${filled.name} is being filled, and the records of that are on this shard`)
  return obstacles
}

/** Returns the reasons in the catalog of the shard itself. Leaves out its buckets if it serves as many as the layout gives it. */
export function ownObstacles(
  { owns, leaving, coming, away = [] }: ShardServes,
  buckets: string,
): readonly string[] {
  const obstacles: string[] = []
  const count = bucketsIn(owns).length
  if (count > 0 && count !== bucketsIn(buckets).length)
    obstacles.push(`it serves ${counted(count, 'bucket')}`)
  if (leaving !== undefined) obstacles.push('buckets are leaving it')
  if (coming !== undefined) obstacles.push('copies of an undone move are still to be deleted')
  const unemptied = away.filter(({ emptied }) => emptied === undefined)
  for (const id of new Set(unemptied.map(({ move }) => move)))
    obstacles.push(`its entities of move ${id} are not deleted yet`)
  return obstacles
}

/**
 * Returns the sources that still have entities of moves to the shard. The record and the lease of a move are on its target, so without this shard
 * no mover would ever delete these entities.
 */
export async function fullSources(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<readonly string[]> {
  const open = await openMoves(context, options)
  return open
    .filter(({ move, phase }) => move.to === number && phase === undefined)
    .map(
      ({ move }) => `shard ${move.from} still has entities of move ${move.id}, whose record is on this shard`,
    )
}

/** Returns the reasons in the tables of the shard. Index rows are no reason: those that are left belong to writes that did not commit. */
export async function contentsLeft(
  context: EngineContext,
  number: number,
  { away = [] }: ShardServes,
  options: CallOptions,
): Promise<readonly string[]> {
  const { entities, pending } = shardAt(context, number)
  const obstacles: string[] = []
  const { length: rows } = await entities.pageByAdded(0, 1, { ...options, maxBody: 0 })
  if (rows > 0) obstacles.push('its table of entities is not empty')
  const { length: pendingRows } = await pending.page({ limit: 1 }, options)
  if (pendingRows > 0) obstacles.push('its table of pending rows is not empty')
  const end = Math.max(0, ...away.map((record) => record.end))
  for (const { name, place, failing, deadLetters } of await consumersOn(context, number, options)) {
    if (place < end) obstacles.push(`consumer ${name} has not handled all of its changes`)
    if (failing > 0) obstacles.push(`consumer ${name} has ${counted(failing, 'failing change')} there`)
    if (deadLetters > 0)
      obstacles.push(
        `consumer ${name} has ${counted(deadLetters, 'dead letter')} there: replay or discard ${deadLetters === 1 ? 'it' : 'them'} (looseleaf consumer letters ${name} --replay)`,
      )
  }
  return obstacles
}
