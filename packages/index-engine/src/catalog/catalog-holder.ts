import { isLooseleafError, type CallOptions, type LooseleafError, type Router } from '@looseleaf/core'
import { abortedError, untilAborted } from '@looseleaf/core/internal'
import { mergeCatalogs, type Catalog, type PlacedCatalog } from './catalog.ts'
import { createPlacement, type Placement } from './placement.ts'
import { askMigratedShards } from './read-catalogs.ts'
import type { StoreDriver } from './store-driver.ts'

/** The process's copy of the catalog. */
export interface CatalogHolder {
  /**
   * Returns the copy without a statement. Throws the error of the last reading if it found a feature that this version does not know
   * (`STORE_TOO_NEW`), or a layout that this process cannot use (`LAYOUT_MISMATCH`, `CATALOG_DAMAGED`): writes by an older copy could do
   * harm, and reads could miss entities.
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
  /** Takes over a catalog that was just read. Ignores one with a lower epoch of any shard. */
  adopt(catalog: Catalog): void
}

export function createCatalogHolder(driver: StoreDriver, router: Router, initial: Catalog): CatalogHolder {
  let placement = createPlacement(router, initial, placedShards(driver, initial))
  let current: PlacedCatalog = { ...initial, placement }
  let refusal: LooseleafError | undefined
  let adoptions = 0
  let reading: Promise<PlacedCatalog> | undefined
  let next: Promise<PlacedCatalog> | undefined

  function placementOf(catalog: Catalog): Placement {
    try {
      return createPlacement(router, catalog, placedShards(driver, catalog))
    } catch (error) {
      if (isLooseleafError(error)) refusal = error
      throw error
    }
  }

  function replace(catalog: Catalog): void {
    // Most readings find the same shards.
    if (placesText(catalog) !== placesText(current)) placement = placementOf(catalog)
    current = { ...catalog, placement }
    refusal = undefined
    adoptions++
  }

  function adopt(catalog: Catalog): void {
    // A newer reading has overtaken one with a lower epoch, or without a shard that has joined since.
    if (catalog.shards.length < current.shards.length) return
    if (catalog.epochs.every((epoch, shard) => epoch >= (current.epochs[shard] ?? 0))) replace(catalog)
  }

  function read(): Promise<PlacedCatalog> {
    const before = adoptions
    reading = askMigratedShards(driver)
      .then(({ catalogs, silent }) => {
        const catalog = mergeCatalogs(
          catalogs.map((answer, shard) => answer ?? current.shards[shard]),
          [...silent.values()],
        )
        // If no reading has overtaken this one, a lower epoch means that a failover has lost a change of the catalog.
        if (adoptions === before) replace(catalog)
        else adopt(catalog)
        return current
      })
      .catch((error: unknown) => {
        if (isLooseleafError(error, 'STORE_TOO_NEW')) refusal = error
        throw error
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  function readNext(after: Promise<PlacedCatalog>): Promise<PlacedCatalog> {
    const begin = (): Promise<PlacedCatalog> => {
      next = undefined
      return read()
    }
    return after.then(begin, begin)
  }

  return {
    current() {
      if (refusal !== undefined) throw refusal
      return current
    },
    latest: () => current,
    adopt,
    reload(options) {
      if (options?.signal?.aborted) return Promise.reject(abortedError(options.signal))
      if (reading !== undefined) next ??= readNext(reading)
      return untilAborted(next ?? read(), options?.signal)
    },
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
