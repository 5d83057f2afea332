import type { Shard } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'

/** Returns the catalog of a shard of a store without indexes. Fields that are given replace the usual ones. */
export function catalogOf(fields: Partial<ShardCatalog> = {}): ShardCatalog {
  return { epoch: 1, storeId: 'store', shardNumber: 0, shardCount: 1, router: 'any', indexes: [], ...fields }
}

/** Creates the tables of a shard, and its first catalog. */
export async function initShard(shard: Shard): Promise<void> {
  await shard.createTables()
  await shard.catalog.init(catalogOf())
}
