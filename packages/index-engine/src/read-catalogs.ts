import {
  isOutage,
  LooseleafError,
  type CallOptions,
  type Driver,
  type Shard,
  type ShardCatalog,
} from '@looseleaf/core'
import { mergeCatalogs, type Catalog } from './catalog.ts'
import { requireUnderstood } from './understood.ts'

/** A shard's catalog, undefined where there is none. Throws `STORE_TOO_NEW` for one that this version must not go by. */
export async function loadShardCatalog(
  shard: Shard,
  options?: CallOptions,
): Promise<ShardCatalog | undefined> {
  const catalog = await shard.catalog.load(options)
  if (catalog !== undefined) requireUnderstood(shard.name, catalog)
  return catalog
}

/** What the shards have said of themselves, in their order. */
export interface ShardAnswers {
  /** Undefined where there is no catalog, and for a shard that does not answer. */
  readonly catalogs: readonly (ShardCatalog | undefined)[]
  /** What has kept a shard from answering, by its number. */
  readonly silent: ReadonlyMap<number, LooseleafError>
}

/**
 * Asks every shard for its catalog. Rejects when none answers, and with whatever a shard says but that it is not to be
 * reached now.
 */
export async function askShards(driver: Driver, options?: CallOptions): Promise<ShardAnswers> {
  const silent = new Map<number, LooseleafError>()
  const answers = await Promise.allSettled(driver.shards.map((shard) => loadShardCatalog(shard, options)))
  const catalogs = answers.map((answer, number) => {
    if (answer.status === 'fulfilled') return answer.value
    if (!isOutage(answer.reason)) throw answer.reason
    silent.set(number, answer.reason)
    return undefined
  })
  if (silent.size === catalogs.length) throw silent.get(0)
  return { catalogs, silent }
}

/** As `askShards`, where every shard has to have a catalog. Throws `NOT_MIGRATED` where one that answers has none. */
export async function askMigratedShards(driver: Driver, options?: CallOptions): Promise<ShardAnswers> {
  const answers = await askShards(driver, options)
  const none = answers.catalogs.findIndex(
    (catalog, number) => catalog === undefined && !answers.silent.has(number),
  )
  if (none !== -1) throw notMigrated(driver.shards[none] as Shard)
  return answers
}

/** Reads every shard's catalog. Rejects when one does not answer, and with `NOT_MIGRATED` where one has none. */
export async function loadShardCatalogs(
  driver: Driver,
  options?: CallOptions,
): Promise<readonly ShardCatalog[]> {
  const { catalogs, silent } = await askMigratedShards(driver, options)
  for (const error of silent.values()) throw error
  return catalogs as readonly ShardCatalog[]
}

/** Reads and merges every shard's catalog; rejects as `loadShardCatalogs` does. */
export async function loadCatalog(driver: Driver, options?: CallOptions): Promise<Catalog> {
  return mergeCatalogs(await loadShardCatalogs(driver, options))
}

export function notMigrated({ name }: Shard): LooseleafError {
  return new LooseleafError(
    'NOT_MIGRATED',
    `Shard ${name} has no Looseleaf tables. Open the store with \`migrate: true\`, or run \`looseleaf init\`.`,
    { shard: name },
  )
}
