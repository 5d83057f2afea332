import {
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type Driver,
  type Shard,
  type ShardCatalog,
} from '@looseleaf/core'
import { mergeCatalogs, type Catalog } from './catalog.ts'
import { loadShardCatalog, loadShardCatalogs, notMigrated } from './read-catalogs.ts'
import { requirementsOf } from './understood.ts'

/** Another process may change the catalog at the same time; this often in a row is no accident. */
const MAX_ATTEMPTS = 50

/** What of a shard's catalog may be changed, and is the same on all shards. */
export type CatalogContents = Pick<
  ShardCatalog,
  | 'requires'
  | 'indexes'
  | 'mayDefer'
  | 'deleteDelayMs'
  | 'onIndexFailure'
  | 'keepTombstonesMs'
  | 'definitions'
>

/** That of a catalog, and nothing else of it. */
export const contentsOf = ({
  requires,
  indexes,
  mayDefer,
  deleteDelayMs,
  onIndexFailure,
  keepTombstonesMs,
  definitions,
}: CatalogContents): CatalogContents => ({
  requires,
  indexes,
  mayDefer,
  deleteDelayMs,
  onIndexFailure,
  keepTombstonesMs,
  definitions,
})

export interface ChangeOptions extends CallOptions {
  /** Whether what was changed is so in a shard's catalog. While it is not, on every shard, the change is made again. */
  readonly holds?: ((contents: CatalogContents) => boolean) | undefined
}

/**
 * Changes the catalog of a store on all shards and raises the epoch: first on shard 0, by compare-and-swap, then on the
 * others, which copy it. When it returns, no shard takes an entity from a writer that does not know the change, and
 * every statement of such a writer has ended. `change` may be called again when another process came first; it returns
 * undefined to leave all as it is.
 */
export async function changeCatalogContents(
  driver: Driver,
  change: (contents: CatalogContents) => CatalogContents | undefined,
  { holds = () => true, ...options }: ChangeOptions = {},
): Promise<Catalog> {
  const first = driver.shards[0] as Shard
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const current = await leadingCatalog(driver, options)
    const contents = change(current)
    if (contents === undefined) return propagateCatalog(driver, options)
    const changed = { ...current, ...contents }
    const requires = requirementsOf(changed)
    const next = { ...changed, requires, epoch: await nextEpoch(first, current, options) }
    if (!(await first.catalog.change(next, current.epoch, options))) continue
    const { catalogs } = await propagated(driver, options)
    // Otherwise a shard has forgotten it again, as in a failover, and the caller must not rely on it.
    if (catalogs.every((catalog) => catalog.epoch >= next.epoch && holds(catalog)))
      return mergeCatalogs(catalogs)
  }
  throw new LooseleafError('CONFLICT', `The catalog was changed by others ${MAX_ATTEMPTS} times in a row.`, {
    shard: first.name,
  })
}

/**
 * By the shard's clock, and not one more than the last: a failover may lose the change that has brought an epoch, and the
 * next change must not bring the same one again, to be taken by processes that have read the other.
 */
async function nextEpoch(shard: Shard, { epoch }: ShardCatalog, options?: CallOptions): Promise<number> {
  return Math.max(epoch + 1, await shard.now(options))
}

/** As `changeCatalogContents`, of the indexes alone. */
export async function changeCatalog(
  driver: Driver,
  change: (indexes: readonly CatalogEntry[]) => readonly CatalogEntry[] | undefined,
  options?: ChangeOptions,
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
  for (let attempt = 1; ; attempt++) {
    const { epoch, catalogs } = await propagated(driver, options)
    // Otherwise a shard has forgotten it again.
    const holds = catalogs.every((catalog) => catalog.epoch >= epoch)
    if (holds || attempt === MAX_ATTEMPTS) return mergeCatalogs(catalogs)
  }
}

/**
 * What is found there may be a change of another process that a crash can undo still, and writers would not know again what
 * the caller relies on. So it is written to disk, and read again, for a server may have died and come back before that.
 */
async function propagated(
  driver: Driver,
  options?: CallOptions,
): Promise<{ readonly epoch: number; readonly catalogs: readonly ShardCatalog[] }> {
  const source = await leadingCatalog(driver, options)
  await Promise.all(driver.shards.slice(1).map((shard) => copyCatalog(source, shard, options)))
  await Promise.all(driver.shards.map((shard) => shard.flush(options)))
  return { epoch: source.epoch, catalogs: await loadShardCatalogs(driver, options) }
}

/**
 * The catalog of shard 0, which leads. A shard that is ahead of it has seen a change that shard 0 has forgotten, as when
 * it was put back to a backup: it takes that over. Otherwise the next change would bring the other shards from one state
 * of an index to the one after the next, and their writers would not have noticed the one between.
 */
async function leadingCatalog(driver: Driver, options?: CallOptions): Promise<ShardCatalog> {
  for (;;) {
    const [first, ...others] = await loadShardCatalogs(driver, options)
    // A driver has a shard at the least.
    const leading = first as ShardCatalog
    const newest = others.reduce((a, b) => (b.epoch > a.epoch ? b : a), leading)
    const { epoch } = newest
    if (epoch === leading.epoch) return leading
    // In vain where shard 0 has changed since it was read.
    const shard = driver.shards[0] as Shard
    await shard.catalog.change({ ...leading, ...contentsOf(newest), epoch }, leading.epoch, options)
  }
}

async function copyCatalog(source: ShardCatalog, shard: Shard, options?: CallOptions): Promise<void> {
  for (;;) {
    const current = await loadShardCatalog(shard, options)
    if (current === undefined) throw notMigrated(shard)
    if (current.epoch >= source.epoch) return
    const next: ShardCatalog = { ...current, ...contentsOf(source), epoch: source.epoch }
    if (await shard.catalog.change(next, current.epoch, options)) return
  }
}
