import { LooseleafError, type Shard } from '@looseleaf/core'
import { distinctIds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'

/** Returns a shard by its number, from 0. Throws `BAD_OPTION` if the store does not have it. */
export function shardAt({ driver: { shards } }: EngineContext, number: number): Shard {
  const found = shards[number]
  if (found !== undefined) return found
  throw new LooseleafError(
    'BAD_OPTION',
    `There is no shard ${number}; the store has ${shards.length}, from 0.`,
  )
}

/** Groups distinct ids by the shard of their entity, by the catalog of this moment. */
export function idsByShard(context: EngineContext, ids: Iterable<Uint8Array>): Map<Shard, Uint8Array[]> {
  const { placement } = context.catalog.current()
  return Map.groupBy(distinctIds(ids), (id) => shardAt(context, placement.shardOfId(id)))
}
