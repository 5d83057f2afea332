import {
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type Driver,
  type Shard,
  type ShardCatalog,
} from '@looseleaf/core'
import { mergeCatalogs, type Catalog } from './catalog.ts'

/** Another process may change the catalog at the same time; this often in a row is no accident. */
const MAX_ATTEMPTS = 50

/** Reads every shard's catalog. Throws `NOT_MIGRATED` where one has none. */
export async function loadShardCatalogs(
  driver: Driver,
  options?: CallOptions,
): Promise<readonly ShardCatalog[]> {
  return Promise.all(
    driver.shards.map(async (shard) => {
      const catalog = await shard.catalog.load(options)
      if (catalog === undefined) throw notMigrated(shard)
      return catalog
    }),
  )
}

/** Reads and merges every shard's catalog. */
export async function loadCatalog(driver: Driver, options?: CallOptions): Promise<Catalog> {
  return mergeCatalogs(await loadShardCatalogs(driver, options))
}

/** What of a shard's catalog may be changed, and is the same on all shards. */
export type CatalogContents = Pick<ShardCatalog, 'indexes' | 'mayDefer'>

/**
 * Changes the catalog of a store on all shards and raises the epoch: first on shard 0, by compare-and-swap, then on the
 * others, which copy it. When it returns, no shard takes an entity from a writer that does not know the change, and
 * every statement of such a writer has ended. `change` may be called again when another process came first; it returns
 * undefined to leave all as it is.
 */
export async function changeCatalogContents(
  driver: Driver,
  change: (contents: CatalogContents) => CatalogContents | undefined,
  options?: CallOptions,
): Promise<Catalog> {
  const first = driver.shards[0] as Shard
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const current = await first.catalog.load(options)
    if (current === undefined) throw notMigrated(first)
    const contents = change(current)
    if (contents === undefined) return propagateCatalog(driver, options)
    const next: ShardCatalog = { ...current, ...contents, epoch: current.epoch + 1 }
    if (await first.catalog.change(next, current.epoch, options)) return propagateCatalog(driver, options)
  }
  throw new LooseleafError('CONFLICT', `The catalog was changed by others ${MAX_ATTEMPTS} times in a row.`, {
    shard: first.name,
  })
}

/** As `changeCatalogContents`, of the indexes alone. */
export async function changeCatalog(
  driver: Driver,
  change: (indexes: readonly CatalogEntry[]) => readonly CatalogEntry[] | undefined,
  options?: CallOptions,
): Promise<Catalog> {
  return changeCatalogContents(
    driver,
    ({ indexes }) => {
      const changed = change(indexes)
      return changed && { indexes: changed }
    },
    options,
  )
}

/**
 * Brings every shard to the catalog of shard 0, which is the first to change. A change that died half way is finished
 * by whoever calls this next. The epoch goes with the contents, so an older copy never replaces a newer one.
 */
export async function propagateCatalog(driver: Driver, options?: CallOptions): Promise<Catalog> {
  const [first, ...others] = driver.shards
  const source = await first?.catalog.load(options)
  if (first === undefined || source === undefined) throw notMigrated(first)
  await Promise.all(others.map((shard) => copyCatalog(source, shard, options)))
  return loadCatalog(driver, options)
}

async function copyCatalog(source: ShardCatalog, shard: Shard, options?: CallOptions): Promise<void> {
  for (;;) {
    const current = await shard.catalog.load(options)
    if (current === undefined) throw notMigrated(shard)
    if (current.epoch >= source.epoch) return
    const { indexes, mayDefer, epoch } = source
    const next: ShardCatalog = { ...current, indexes, mayDefer, epoch }
    if (await shard.catalog.change(next, current.epoch, options)) return
  }
}

function notMigrated(shard: Shard | undefined): LooseleafError {
  return new LooseleafError(
    'NOT_MIGRATED',
    `Shard ${shard?.name ?? '0'} has no Looseleaf tables. Open the store with \`migrate: true\`, or run \`looseleaf init\`.`,
    { shard: shard?.name },
  )
}
