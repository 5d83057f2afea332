import {
  isLooseleafError,
  type CallOptions,
  type CatalogEntry,
  type Driver,
  type Shard,
} from '@looseleaf/core'
import { tableSpec } from './define-index.ts'

/** Those of these indexes whose table is missing on a shard, on one at the least. */
export async function indexesWithLostTables(
  driver: Driver,
  entries: readonly CatalogEntry[],
  options?: CallOptions,
): Promise<readonly CatalogEntry[]> {
  const lost = await Promise.all(
    entries.map(async (entry) => {
      const there = await Promise.all(driver.shards.map((shard) => hasIndexTable(shard, entry, options)))
      return !there.every(Boolean)
    }),
  )
  return entries.filter((_, i) => lost[i])
}

/** Whether the table of an index is there on a shard. */
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
