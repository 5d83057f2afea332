import type { CallOptions, CatalogEntry } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { IndexStatus, StoreStatus } from './types.ts'

/** Counts everything; slow on large tables. */
export async function readStatus(context: EngineContext, options?: CallOptions): Promise<StoreStatus> {
  const catalog = await context.catalog.reload(options)
  const shards = await Promise.all(
    context.driver.shards.map(async (shard, number) => {
      const [{ entities, tombstones }, warnings] = await Promise.all([
        shard.entities.count(options),
        shard.warnings(options),
      ])
      return { name: shard.name, epoch: catalog.epochs[number] ?? 0, entities, tombstones, warnings }
    }),
  )
  return { storeId: catalog.storeId, shards, indexes: catalog.indexes.map(indexStatus) }
}

export function indexStatus(entry: CatalogEntry): IndexStatus {
  const { name, generation, table, state, shardOn } = entry
  const columns = entry.properties
    .map((property) => `${property.name} ${property.type}${property.many ? '[]' : ''}`)
    .join(', ')
  return { name, generation, table, state, columns, shardOn }
}
