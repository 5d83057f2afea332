import { isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { CatalogEntry, ShardCatalog, StoreLayout } from '@looseleaf/core/internal'
import { contentsEpochOf, latestLayout, mergeCatalogs, type Catalog } from './catalog.ts'
import type { CatalogContents } from './catalog-contents.ts'
import { isDurable, loadShardCatalog, loadShardCatalogs, notMigrated } from './read-catalogs.ts'
import { requirementsOf } from './requirements.ts'
import { nextEpoch, withContents } from './shard-epochs.ts'
import { presentShards, type StoreDriver } from './store-driver.ts'

/** Attempts to change the catalog while other processes change it. More conflicts in a row point to a fault, not to a race. */
const MAX_ATTEMPTS = 50

export interface CatalogChangeOptions extends CallOptions {
  /** Tells whether a shard's catalog has the change. The call repeats the change until this holds on every shard. Default: always. */
  readonly holds?: ((contents: CatalogContents) => boolean) | undefined
  /** Contents on which the change is based. The call changes nothing if the catalog has other ones by now. Default: those that it finds. */
  readonly contentsEpoch?: number | undefined
  /** Number of a shard that may lack the change in the end, because it takes no writes. It has to answer reads. Default: none. */
  readonly mayLack?: number | undefined
}

/**
 * Changes the catalog on all shards and raises the epoch: by compare-and-swap on the leading shard, then by copies to the others. When the
 * call resolves, no shard accepts an entity from a writer that does not know the change, and every statement of such a writer has
 * ended. Calls `change` again if another process changes the catalog first. `change` returns undefined to change nothing.
 * Rejects with `CONFLICT` after 50 attempts.
 */
export async function changeCatalogContents(
  driver: StoreDriver,
  change: (contents: CatalogContents) => CatalogContents | undefined,
  { holds = () => true, mayLack, contentsEpoch, ...options }: CatalogChangeOptions = {},
): Promise<Catalog> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const current = await leadingCatalog(driver, options)
    const first = driver.shards[current.shardNumber] as Shard
    const isKnown = contentsEpoch === undefined || contentsEpochOf(current) === contentsEpoch
    const contents = isKnown ? change(current) : undefined
    if (contents === undefined) return propagateCatalog(driver, { ...options, mayLack })
    const changed = { ...current, ...contents }
    const requires = requirementsOf(changed)
    const epoch = await nextEpoch(first, current, options)
    // These contents begin with this epoch.
    const next = { ...changed, requires, epoch, contentsEpoch: undefined }
    if (!(await first.catalog.change(next, current.epoch, options))) continue
    // 1. A crash undoes the change. 2. Another process changes the catalog here. 3. The copies of this change lead elsewhere by then.
    if (leadOf(next.layout) !== current.shardNumber && !(await isDurable(first, epoch, options))) continue
    const { catalogs } = await copyLeadingCatalog(driver, { ...options, mayLack })
    // A failover may have undone the change on a shard; then the caller must not rely on it.
    if (needed(catalogs, mayLack).every((catalog) => contentsEpochOf(catalog) >= epoch && holds(catalog)))
      return mergeCatalogs(catalogs)
  }
  throw new LooseleafError(
    'CONFLICT',
    `Other processes changed the catalog ${MAX_ATTEMPTS} times in a row. Try again when they are done.`,
    { shard: presentShards(driver)[0]?.name },
  )
}

/** Returns the number of the leading shard, the first one that was not removed. Every change of the catalog begins there. */
function leadOf(layout: StoreLayout | undefined): number {
  return layout?.shards.findIndex(({ state }) => state !== 'removed') ?? 0
}

/** Changes the indexes alone, like `changeCatalogContents`. */
export async function changeCatalog(
  driver: StoreDriver,
  change: (indexes: readonly CatalogEntry[]) => readonly CatalogEntry[] | undefined,
  options?: CatalogChangeOptions,
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
 * Copies the contents of the leading shard to every shard, and so completes a change whose process crashed in between. Each copy carries
 * their epoch, so an older copy never replaces a newer one.
 */
export async function propagateCatalog(
  driver: StoreDriver,
  options: Pick<CatalogChangeOptions, 'mayLack' | 'signal'> = {},
): Promise<Catalog> {
  for (let attempt = 1; ; attempt++) {
    const { contentsEpoch, catalogs } = await copyLeadingCatalog(driver, options)
    // A failover may have undone a copy.
    const holds = needed(catalogs, options.mayLack).every(
      (catalog) => contentsEpochOf(catalog) >= contentsEpoch,
    )
    if (holds || attempt === MAX_ATTEMPTS) return mergeCatalogs(catalogs)
  }
}

/**
 * Copies the leading catalog, flushes every shard and reads all catalogs again. Both steps after the copy are needed:
 * 1. A catalog that was read may be a commit of another process that is not durable yet. If the server crashed now, writers would
 *    go on without the change on which the caller relies. So each shard flushes.
 * 2. The server may have crashed and restarted before the flush. So the call reads again afterwards.
 */
async function copyLeadingCatalog(
  driver: StoreDriver,
  { mayLack, ...options }: Pick<CatalogChangeOptions, 'mayLack' | 'signal'>,
): Promise<{ readonly contentsEpoch: number; readonly catalogs: readonly (ShardCatalog | undefined)[] }> {
  const source = await leadingCatalog(driver, options)
  const shards = presentShards(driver)
  const others = shards.filter((shard) => shard !== driver.shards[source.shardNumber])
  const written = (shard: Shard, write: Promise<void>): Promise<void> =>
    write.catch((error: unknown) => {
      if (shard !== driver.shards[mayLack ?? -1] || !isLooseleafError(error) || error.code === 'ABORTED')
        throw error
    })
  await Promise.all(others.map((shard) => written(shard, copyCatalog(source, shard, options))))
  await Promise.all(shards.map((shard) => written(shard, shard.flush(options))))
  return { contentsEpoch: contentsEpochOf(source), catalogs: await loadShardCatalogs(driver, options) }
}

function needed(
  catalogs: readonly (ShardCatalog | undefined)[],
  mayLack: number | undefined,
): readonly ShardCatalog[] {
  return known(catalogs).filter(({ shardNumber }) => shardNumber !== mayLack)
}

const known = (catalogs: readonly (ShardCatalog | undefined)[]): readonly ShardCatalog[] =>
  catalogs.filter((catalog) => catalog !== undefined)

/**
 * Returns the catalog of the leading shard. If another shard has later contents, the leading one has lost a change, for example by a
 * restored backup, or has just become the leading one, and takes them over first. Otherwise the next change would start from an outdated state
 * of an index, and its copies could take the other shards past a state that their writers have never seen.
 */
async function leadingCatalog(driver: StoreDriver, options?: CallOptions): Promise<ShardCatalog> {
  for (;;) {
    const catalogs = await loadShardCatalogs(driver, options)
    const number = leadOf(latestLayout(catalogs))
    // Only a removed shard has no catalog.
    const leading = catalogs[number] as ShardCatalog
    const newest = known(catalogs).reduce(
      (a, b) => (contentsEpochOf(b) > contentsEpochOf(a) ? b : a),
      leading,
    )
    if (contentsEpochOf(newest) === contentsEpochOf(leading)) return leading
    // 1. The removal of the leading shard is visible there, and is taken over. 2. A crash undoes it. 3. Another process, which has read the
    // catalogs in between, begins a change at that shard, and its copies lead elsewhere.
    const taken = driver.shards[newest.shardNumber] as Shard
    if (leadOf(newest.layout) !== newest.shardNumber && !(await isDurable(taken, newest.epoch, options)))
      continue
    // Changes nothing if the shard has changed since this reading; the loop then reads again.
    const shard = driver.shards[number] as Shard
    const next = await withContents(shard, leading, newest, options)
    await shard.catalog.change(next, leading.epoch, options)
  }
}

/** Copies the contents of a catalog to a shard, unless it has later ones. */
export async function copyCatalog(source: ShardCatalog, shard: Shard, options?: CallOptions): Promise<void> {
  for (;;) {
    const current = await loadShardCatalog(shard, options)
    if (current === undefined) throw notMigrated(shard)
    if (contentsEpochOf(current) >= contentsEpochOf(source)) return
    const next = await withContents(shard, current, source, options)
    if (await shard.catalog.change(next, current.epoch, options)) return
  }
}
