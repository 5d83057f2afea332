import { distinctIds, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'

/** A shard by its number, which is one of the router's: those are the driver's. */
export function shardAt({ driver }: EngineContext, number: number): Shard {
  return driver.shards[number] as Shard
}

/** Groups ids, each once, by the shard of their entity. */
export function idsByShard(context: EngineContext, ids: Iterable<Uint8Array>): Map<Shard, Uint8Array[]> {
  return Map.groupBy(distinctIds(ids), (id) => shardAt(context, context.router.shardOfId(id)))
}
