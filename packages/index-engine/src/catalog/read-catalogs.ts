import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { isOutage, type ShardCatalog, type StoreLayout } from '@looseleaf/core/internal'
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
  /** By shard number. Undefined for a shard without a catalog, for one that does not answer, and for a removed one. */
  readonly catalogs: readonly (ShardCatalog | undefined)[]
  /** Errors of the shards that did not answer, by shard number. */
  readonly silent: ReadonlyMap<number, LooseleafError>
}

/**
 * Reads the catalogs of all shards that were not removed, also of shards that have joined the store since the last reading. Rejects if none of
 * them answers, and with any error that is not an outage of its shard.
 */
export async function askShards(driver: StoreDriver, options?: CallOptions): Promise<ShardAnswers> {
  const silent = new Map<number, LooseleafError>()
  const catalogs: (ShardCatalog | undefined)[] = []
  const asked: Shard[] = []
  let removed: readonly number[] = []
  for (;;) {
    const unasked = unaskedShards(driver, asked)
    if (unasked.length === 0) break
    const answers = await Promise.allSettled(
      unasked.map(async ([number, shard]) =>
        driver.removed?.has(number) ? undefined : loadShardCatalog(shard, options),
      ),
    )
    for (const [i, answer] of answers.entries()) {
      const [number, shard] = unasked[i]!
      asked[number] = shard
      if (answer.status === 'rejected') {
        if (!isOutage(answer.reason)) throw answer.reason
        silent.set(number, answer.reason)
      }
      catalogs[number] = answer.status === 'fulfilled' ? answer.value : undefined
    }
    // Before they are arranged, the shards have other places than by number.
    if (driver.follow === undefined) break
    const layout = latestLayout(catalogs)
    removed = await lastingRemovals(driver, catalogs, options)
    if (layout !== undefined) driver.follow(layout, removed)
  }
  for (const number of removed) silent.delete(number)
  const [error] = silent.values()
  if (error !== undefined && silent.size + removed.length === catalogs.length) throw error
  return {
    catalogs: catalogs.map((catalog, number) => (removed.includes(number) ? undefined : catalog)),
    silent,
  }
}

/** Returns the shards that have joined, or were replaced, since these were asked. A removed shard is asked no more. */
function unaskedShards(driver: StoreDriver, asked: readonly Shard[]): readonly [number, Shard][] {
  return [...driver.shards.entries()].filter(
    ([number, shard]) =>
      asked[number] === undefined || (asked[number] !== shard && !driver.removed?.has(number)),
  )
}

export function isRemoved(layout: StoreLayout | undefined, number: number): boolean {
  return layout?.shards[number]?.state === 'removed'
}

/**
 * Returns the numbers of the shards that are removed by a layout, once another shard has it. The leading shard has the change of its own
 * removal first. Until another one has it too, the removed shard still counts: its catalog is the only one with the change.
 */
export function settledRemovals(catalogs: readonly (ShardCatalog | undefined)[]): readonly number[] {
  const layout = latestLayout(catalogs)
  const removed = Array.from(layout?.shards.keys() ?? []).filter((number) => isRemoved(layout, number))
  return takersOf(catalogs, removed).length > 0 ? removed : []
}

/**
 * As `settledRemovals`, but a shard that this process has not left out so far is removed only once that is on the disk of another shard. A
 * process leaves it out for good, so no crash may undo the removal:
 * 1. The removal of the leading shard is on the next one, and visible, but not on disk. A process leaves the removed shard out.
 * 2. A crash of the next shard undoes the removal there. By the catalogs of the shards that the process knows, the removed shard leads.
 */
async function lastingRemovals(
  driver: StoreDriver,
  catalogs: readonly (ShardCatalog | undefined)[],
  options?: CallOptions,
): Promise<readonly number[]> {
  const removed = settledRemovals(catalogs)
  const known = removed.filter((number) => driver.removed?.has(number))
  if (known.length === removed.length) return removed
  for (const { shardNumber, epoch } of takersOf(catalogs, removed)) {
    try {
      if (await isDurable(driver.shards[shardNumber] as Shard, epoch, options)) return removed
    } catch (error) {
      // Another shard may answer. If none does, the removed shard counts until the next reading.
      if (!isOutage(error)) throw error
    }
  }
  return known
}

/** Tells whether a shard has this epoch before and after a flush, so that no crash can undo it. */
export async function isDurable(shard: Shard, epoch: number, options?: CallOptions): Promise<boolean> {
  await shard.flush(options)
  return (await loadShardCatalog(shard, options))?.epoch === epoch
}

/** Returns the catalogs of other shards that have these removals. */
function takersOf(
  catalogs: readonly (ShardCatalog | undefined)[],
  removed: readonly number[],
): readonly ShardCatalog[] {
  const revision = latestLayout(catalogs)?.revision
  return catalogs.filter(
    (catalog) =>
      catalog?.layout !== undefined &&
      catalog.layout.revision === revision &&
      !removed.includes(catalog.shardNumber),
  ) as readonly ShardCatalog[]
}

/** Reads every shard's catalog like `askShards`. Rejects with `NOT_MIGRATED` if a shard that answers has none. */
export async function askMigratedShards(driver: StoreDriver, options?: CallOptions): Promise<ShardAnswers> {
  const answers = await askShards(driver, options)
  const layout = latestLayout(answers.catalogs)
  const missing = answers.catalogs.findIndex(
    (catalog, number) => catalog === undefined && !answers.silent.has(number) && !isRemoved(layout, number),
  )
  if (missing !== -1) throw notMigrated(driver.shards[missing] as Shard)
  return answers
}

/**
 * Reads every shard's catalog, by shard number; undefined for a removed one. Rejects if a shard does not answer, and with `NOT_MIGRATED` if a
 * shard has no catalog.
 */
export async function loadShardCatalogs(
  driver: StoreDriver,
  options?: CallOptions,
): Promise<readonly (ShardCatalog | undefined)[]> {
  const { catalogs, silent } = await askMigratedShards(driver, options)
  for (const error of silent.values()) throw error
  return catalogs
}

/** Returns the first of these catalogs. At least one shard has to have answered. */
export function anyCatalog(catalogs: readonly (ShardCatalog | undefined)[]): ShardCatalog {
  return catalogs.find((catalog) => catalog !== undefined) as ShardCatalog
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
