import type { Shard } from '@looseleaf/core'
import type { CatalogEntry, ShardCatalog } from '@looseleaf/core/internal'

/** Returns the catalog of a shard of a store without indexes. Fields that are given replace the usual ones. */
export function catalogOf(fields: Partial<ShardCatalog> = {}): ShardCatalog {
  return { epoch: 1, storeId: 'store', shardNumber: 0, shardCount: 1, router: 'any', indexes: [], ...fields }
}

/** Returns the catalog entry of a ready index on a name. Fields that are given replace the usual ones. */
export function entryOf(fields: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    name: 'by_name',
    properties: [{ name: 'name', type: 'string', many: false }],
    shardOn: 'id',
    onMisfit: 'refuse',
    generation: 1,
    table: 'index_by_name_1',
    state: 'ready',
    ...fields,
  }
}

/** Creates the tables of a shard, and its first catalog. */
export async function initShard(shard: Shard): Promise<void> {
  await shard.createTables()
  await shard.catalog.init(catalogOf())
}
