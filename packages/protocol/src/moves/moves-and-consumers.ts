import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { bucketsIn } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { consumerPlaces } from '../consumer-places.ts'
import { loadOwn } from './own-buckets.ts'

/**
 * Throws `CONFLICT` if a consumer is registered. A consumer has a place for each partition of each shard, and does not wait for a place on
 * another shard, so it could get an older state of a moved entity after a newer one:
 * 1. An entity is written at the source, and then, after its bucket has moved, at the target.
 * 2. The consumer is behind at the source, and gets the state of the target first.
 */
export async function requireNoConsumers(context: EngineContext, options: CallOptions): Promise<void> {
  const shards = [...context.driver.shards.keys()]
  const found = await Promise.all(shards.map((shard) => consumerPlaces(context, shard, options)))
  const names = [...new Set(found.flatMap((places) => [...places.keys()]))].toSorted()
  if (names.length === 0) return
  throw new LooseleafError(
    'CONFLICT',
    `The store has consumers (${names.join(', ')}), and consumers cannot follow entities from shard to shard yet. Drop them before the move, and start them again after it with from: 'beginning'.`,
  )
}

/**
 * Throws `CONFLICT` while buckets move, or while a shard has entities of buckets that it gave up. A consumer that registers calls it after
 * its registration is on all shards, and a move calls `requireNoConsumers` after its announcement is, so one of the two notices the other.
 */
export async function requireNoMoves(context: EngineContext, options: CallOptions): Promise<void> {
  for (const shard of context.driver.shards.keys()) {
    const { catalog, serves } = await loadOwn(context, shard, options)
    const { away = [], leaving = [], coming = [] } = serves
    const moves = [
      ...(catalog.layout?.moves ?? []).map(({ id }) => id),
      ...[...leaving, ...coming].map(({ move }) => move),
    ]
    const move = moves[0] ?? away.find(({ emptied }) => emptied === undefined)?.move
    if (move === undefined) continue
    throw new LooseleafError(
      'CONFLICT',
      `Move ${move} is not over, and consumers cannot follow entities from shard to shard yet. A new consumer begins once movesOf reports no move.`,
    )
  }
}

/**
 * Returns a function that tells whether a shard owns the bucket of an entity. It is right as long as a consumer is registered, because no
 * bucket moves meanwhile. Rows of other buckets may be on the shard for a while: a move, or the undo of one, is still deleting them, and
 * their changes come from another shard.
 */
export async function ownedIds(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<(id: Uint8Array) => boolean> {
  const buckets = bucketsOf(context.router)
  if (buckets === undefined) return () => true
  const owned = new Set(bucketsIn((await loadOwn(context, shard, options)).serves.owns))
  return (id) => owned.has(buckets.ofId(id))
}
