import { isLooseleafError, type LooseleafError, type ErrorCode, type Shard } from '@looseleaf/core'
import { badOption, distinctIds } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'

/** Returns a shard by its number, from 0. Throws `BAD_OPTION` if the store does not have it. */
export function shardAt({ driver: { shards } }: EngineContext, number: number): Shard {
  const found = shards[number]
  if (found !== undefined) return found
  throw badOption(`There is no shard ${number}; the store has ${shards.length}, from 0.`)
}

/** Returns the shard with the records of the whole store: the first one that was not removed. */
export function leadingShard({ driver }: EngineContext): Shard {
  return presentShards(driver)[0] as Shard
}

const UNREACHED: ReadonlySet<ErrorCode> = new Set(['SHARD_UNAVAILABLE', 'DEADLINE', 'CLOSED'])

/** Tells whether an error says that a shard was not reached. */
export function isUnreached(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.shard !== undefined && UNREACHED.has(error.code)
}

/**
 * Tells whether an error says that a removed shard was not reached, by the catalog in memory. The work that met it does not need the shard
 * any more.
 */
export function isOfRemovedShard({ catalog }: Pick<EngineContext, 'catalog'>, error: unknown): boolean {
  if (!isUnreached(error)) return false
  const named = catalog.latest().layout?.shards.filter(({ name }) => name === error.shard) ?? []
  // An address may have been that of several shards, one after the other.
  return named.length > 0 && named.every(({ state }) => state === 'removed')
}

/**
 * As `isOfRemovedShard`, also before the catalog in memory says so: any part of the process that reads the catalogs takes a removed shard out
 * of the list of shards.
 */
export function isOfShardLeftOut(context: EngineContext, error: unknown): boolean {
  if (isOfRemovedShard(context, error)) return true
  if (!isUnreached(error)) return false
  const { shards, removed } = context.driver
  const named = Array.from(shards.entries()).filter(([, { name }]) => name === error.shard)
  return named.length > 0 && named.every(([number]) => removed?.has(number))
}

/** Groups distinct ids by the shard of their entity, by the catalog of this moment. */
export function idsByShard(context: EngineContext, ids: Iterable<Uint8Array>): Map<Shard, Uint8Array[]> {
  const { placement } = context.catalog.current()
  return Map.groupBy(distinctIds(ids), (id) => shardAt(context, placement.shardOfId(id)))
}
