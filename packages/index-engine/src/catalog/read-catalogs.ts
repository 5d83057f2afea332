import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { isOutage, type ShardCatalog } from '@looseleaf/core/internal'
import { latestLayout, mergeCatalogs, type Catalog } from './catalog.ts'
import { requireUnderstood } from './requirements.ts'
import type { StoreDriver } from './store-driver.ts'

/** Reads a shard's catalog; undefined if there is none. Throws `STORE_TOO_NEW` if it requires a feature that this version lacks. */
export async function loadShardCatalog(
  shard: Shard,
  options?: CallOptions,
): Promise<ShardCatalog | undefined> {
  const catalog = await shard.catalog.load(options)
  if (catalog !== undefined) requireUnderstood(shard.name, catalog)
  return catalog
}

/** The answers of all shards to a reading of their catalogs. */
export interface ShardAnswers {
  /** In the order of the shards. Undefined for a shard without a catalog, and for one that does not answer. */
  readonly catalogs: readonly (ShardCatalog | undefined)[]
  /** Errors of the shards that did not answer, by shard number. */
  readonly silent: ReadonlyMap<number, LooseleafError>
}

/**
 * Reads every shard's catalog, also of shards that have joined the store since the last reading. Rejects if no shard answers, and with any
 * error that is not an outage of its shard.
 */
export async function askShards(driver: StoreDriver, options?: CallOptions): Promise<ShardAnswers> {
  const silent = new Map<number, LooseleafError>()
  const catalogs: (ShardCatalog | undefined)[] = []
  do {
    const unread = driver.shards.slice(catalogs.length)
    const answers = await Promise.allSettled(unread.map((shard) => loadShardCatalog(shard, options)))
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        if (!isOutage(answer.reason)) throw answer.reason
        silent.set(catalogs.length, answer.reason)
      }
      catalogs.push(answer.status === 'fulfilled' ? answer.value : undefined)
    }
    const layout = latestLayout(catalogs)
    if (layout !== undefined) driver.follow?.(layout)
  } while (driver.shards.length > catalogs.length)
  if (silent.size === catalogs.length) throw silent.get(0)
  return { catalogs, silent }
}

/** Reads every shard's catalog like `askShards`. Rejects with `NOT_MIGRATED` if a shard that answers has none. */
export async function askMigratedShards(driver: StoreDriver, options?: CallOptions): Promise<ShardAnswers> {
  const answers = await askShards(driver, options)
  const missing = answers.catalogs.findIndex(
    (catalog, number) => catalog === undefined && !answers.silent.has(number),
  )
  if (missing !== -1) throw notMigrated(driver.shards[missing] as Shard)
  return answers
}

/** Reads every shard's catalog. Rejects if a shard does not answer, and with `NOT_MIGRATED` if a shard has no catalog. */
export async function loadShardCatalogs(
  driver: StoreDriver,
  options?: CallOptions,
): Promise<readonly ShardCatalog[]> {
  const { catalogs, silent } = await askMigratedShards(driver, options)
  for (const error of silent.values()) throw error
  return catalogs as readonly ShardCatalog[]
}

/** Reads and merges every shard's catalog; rejects as `loadShardCatalogs` does. */
export async function loadCatalog(driver: StoreDriver, options?: CallOptions): Promise<Catalog> {
  return mergeCatalogs(await loadShardCatalogs(driver, options))
}

export function notMigrated({ name }: Shard): LooseleafError {
  return new LooseleafError(
    'NOT_MIGRATED',
    `Shard ${name} has no Looseleaf tables. Open the store with \`migrate: true\`, or run \`looseleaf init\`.`,
    { shard: name },
  )
}
