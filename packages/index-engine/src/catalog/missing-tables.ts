import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { tableSpec } from '../definitions/catalog-entries.ts'
import { presentShards, type StoreDriver } from './store-driver.ts'

/** Returns the indexes whose table is missing on at least one shard. Reads at most one row per table. */
export async function indexesWithMissingTables(
  driver: StoreDriver,
  entries: readonly CatalogEntry[],
  options?: CallOptions,
): Promise<readonly CatalogEntry[]> {
  const isComplete = await Promise.all(
    entries.map(async (entry) => {
      const shards = presentShards(driver)
      const hasTable = await Promise.all(shards.map((shard) => hasIndexTable(shard, entry, options)))
      return hasTable.every(Boolean)
    }),
  )
  return entries.filter((_, i) => !isComplete[i])
}

export async function hasIndexTable(
  shard: Shard,
  entry: CatalogEntry,
  options?: CallOptions,
): Promise<boolean> {
  try {
    await shard.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 1 }, options)
    return true
  } catch (error) {
    if (isLooseleafError(error, 'INDEX_NOT_FOUND')) return false
    throw error
  }
}
