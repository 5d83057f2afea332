import {
  isLooseleafError,
  type CallOptions,
  type LooseleafError,
  type Router,
  type Shard,
} from '@looseleaf/core'
import { abortedError, getOrInsert, untilAborted } from '@looseleaf/core/internal'
import { contentsEpochOf, mergeCatalogs, type Catalog, type PlacedCatalog } from './catalog.ts'
import { requireEntityTable } from './entity-table.ts'
import { createPlacement, type Placement } from './placement.ts'
import { askMigratedShards, isRemoved, loadShardCatalog } from './read-catalogs.ts'
import { createSharedReading } from './shared-reading.ts'
import { presentShards, type StoreDriver } from './store-driver.ts'

/** The process's copy of the catalog. */
export interface CatalogHolder {
  /**
   * Returns the copy without a statement. Throws the error of the last reading if it found a feature that this version does not know
   * (`STORE_TOO_NEW`), or a layout or a table of entities that this process cannot use (`LAYOUT_MISMATCH`, `CATALOG_DAMAGED`): writes by an
   * older copy could do harm, and reads could miss entities.
   */
  current(): PlacedCatalog
  /** Returns the copy even while `current` throws. For reports only; no write or query may rely on it. */
  latest(): PlacedCatalog
  /**
   * Reads the catalogs of all shards. The reading starts after this call, because one in flight may have missed a change that the
   * caller knows of. Waiting calls share the next reading; a signal ends the wait of its own call only. A shard that does not answer
   * keeps its last known catalog. Rejects if no shard answers, and if the layout does not fit the shards of this process.
   */
  reload(options?: CallOptions): Promise<PlacedCatalog>
  /**
   * Reads the catalog of one shard, shared like `reload`; those of all shards if its contents have changed. Enough after a change of the
   * buckets that the shard serves. Rejects if the shard does not answer.
   */
  reloadShard(number: number, options?: CallOptions): Promise<PlacedCatalog>
  /** Takes over a catalog that was just read. Ignores one with a lower epoch of any shard. */
  adopt(catalog: Catalog): void
}

export function createCatalogHolder(driver: StoreDriver, router: Router, initial: Catalog): CatalogHolder {
  requireTable(initial)
  let placement = createPlacement(router, initial, placedShards(driver, initial))
  let current: PlacedCatalog = { ...initial, placement }
  let refusal: LooseleafError | undefined
  let adoptions = 0

  function requireTable(catalog: Catalog): void {
    for (const shard of presentShards(driver)) requireEntityTable(shard, catalog)
  }

  function placementOf(catalog: Catalog): Placement {
    // Most readings find the same shards.
    if (placesText(catalog) === placesText(current)) return placement
    return createPlacement(router, catalog, placedShards(driver, catalog))
  }

  function replace(catalog: Catalog): void {
    try {
      requireTable(catalog)
      placement = placementOf(catalog)
    } catch (error) {
      if (isLooseleafError(error)) refusal = error
      throw error
    }
    current = { ...catalog, placement }
    refusal = undefined
    adoptions++
  }

  function adopt(catalog: Catalog): void {
    // A newer reading has overtaken one with a lower epoch, or without a shard that has joined since.
    if (catalog.shards.length < current.shards.length) return
    const isNewer = (epoch: number, shard: number): boolean =>
      epoch >= (current.epochs[shard] ?? 0) || isRemoved(catalog.layout, shard)
    if (catalog.epochs.every(isNewer)) replace(catalog)
  }

  /** Takes over a catalog that was read since this number of adoptions. */
  function takeOver(catalog: Catalog, before: number): PlacedCatalog {
    // If no reading has overtaken this one, a lower epoch means that a failover has lost a change of the catalog.
    if (adoptions === before) replace(catalog)
    else adopt(catalog)
    return current
  }

  async function refusing(work: Promise<PlacedCatalog>): Promise<PlacedCatalog> {
    try {
      return await work
    } catch (error) {
      if (isLooseleafError(error, 'STORE_TOO_NEW')) refusal = error
      throw error
    }
  }

  async function readAll(): Promise<PlacedCatalog> {
    const before = adoptions
    const { catalogs, silent } = await askMigratedShards(driver)
    const known = catalogs.map((answer, shard) => {
      // No process changes the catalog of a removed shard any more.
      return answer ?? (driver.removed?.has(shard) ? undefined : current.shards[shard])
    })
    return takeOver(mergeCatalogs(known, [...silent.values()]), before)
  }

  async function readShard(number: number): Promise<PlacedCatalog> {
    const before = adoptions
    const shard = driver.shards[number] as Shard
    const known = current.shards[number]
    if (driver.removed?.has(number)) return reading()
    const found = await loadShardCatalog(shard)
    if (found === undefined || known === undefined || contentsEpochOf(found) !== contentsEpochOf(known))
      return reading()
    if (found.epoch === known.epoch) return current
    const silent = current.silent.filter((error) => error.shard !== shard.name)
    return takeOver(mergeCatalogs(current.shards.with(number, found), silent), before)
  }

  const reading = createSharedReading(() => refusing(readAll()))
  /** By shard number. A shard may join later. */
  const shardReadings = new Map<number, () => Promise<PlacedCatalog>>()

  const readingOf = (number: number) => createSharedReading(() => refusing(readShard(number)))

  function waitFor(read: () => Promise<PlacedCatalog>, { signal }: CallOptions = {}): Promise<PlacedCatalog> {
    return signal?.aborted ? Promise.reject(abortedError(signal)) : untilAborted(read(), signal)
  }

  return {
    current() {
      if (refusal !== undefined) throw refusal
      return current
    },
    latest: () => current,
    adopt,
    reload: (options) => waitFor(reading, options),
    reloadShard: (number, options) => waitFor(getOrInsert(shardReadings, number, readingOf), options),
  }
}

/** Returns the number of shards that a placement may use. A shard may have joined after the catalog was read. */
function placedShards({ shards }: StoreDriver, { layout }: Catalog): number {
  return Math.min(shards.length, layout?.shards.length ?? shards.length)
}

/** Returns a text that is the same for catalogs with the same placement. */
function placesText({ layout, shards }: Catalog): string {
  return JSON.stringify([layout, shards.map((shard) => shard?.serves)])
}
