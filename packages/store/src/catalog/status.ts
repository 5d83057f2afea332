import type { CallOptions, Shard } from '@looseleaf/core'
import { isOfShard, type CatalogEntry, type ShardCatalog } from '@looseleaf/core/internal'
import {
  isPaused,
  loadShardCatalog,
  mergeCatalogs,
  notMigrated,
  propertyText,
  presentShards,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import type { IndexStatus, ShardStatus, StoreStatus } from '../types.ts'

/**
 * Reads the catalog and counts the entities of every shard, which is slow on large tables. A shard that fails has its error in `shards`.
 * While no shard answers, the catalog is the copy of this process.
 */
export async function readStatus(context: EngineContext, options?: CallOptions): Promise<StoreStatus> {
  const answers = await Promise.all(presentShards(context.driver).map((shard) => readShard(shard, options)))
  const shards = answers.map(({ status }) => status)
  const hasAnswer = answers.some(({ catalog }) => catalog !== undefined)
  const { storeId, policies, indexes } = hasAnswer
    ? mergeCatalogs(answers.map(({ catalog }) => catalog))
    : context.catalog.latest()
  return { storeId, policies, shards, indexes: indexes.map(indexStatus) }
}

async function readShard(
  shard: Shard,
  options: CallOptions | undefined,
): Promise<{ readonly status: ShardStatus; readonly catalog: ShardCatalog | undefined }> {
  const { name } = shard
  try {
    const [catalog, { entities, tombstones, oldestTombstone: oldest }, warnings] = await Promise.all([
      loadShardCatalog(shard, options),
      shard.entities.count(options),
      shard.warnings(options),
    ])
    if (catalog === undefined) throw notMigrated(shard)
    const { epoch } = catalog
    const oldestTombstone = oldest === undefined ? undefined : new Date(oldest / 1000)
    const counted = { epoch, entities, tombstones, oldestTombstone }
    return { status: { name, error: undefined, ...counted, warnings }, catalog }
  } catch (error) {
    if (!isOfShard(error)) throw error
    const unknown = {
      epoch: undefined,
      entities: undefined,
      tombstones: undefined,
      oldestTombstone: undefined,
    }
    return { status: { name, error, ...unknown, warnings: [] }, catalog: undefined }
  }
}

export function indexStatus(entry: CatalogEntry): IndexStatus {
  const { name, generation, table, state, shardOn, include, on, expires, unique, hidden, exact } = entry
  const columns = entry.properties.map(propertyText).join(', ')
  const paused = isPaused(entry)
  return {
    name,
    generation,
    table,
    state,
    columns,
    shardOn,
    ...(include && { include }),
    ...(on && { on }),
    ...(expires !== undefined && { expires }),
    ...(unique && { unique }),
    ...(hidden && { hidden }),
    ...(paused && { paused }),
    ...(exact && { exact }),
  }
}
