import type { Driver } from '@looseleaf/core'
import type { LayoutMove, StoreLayout } from '@looseleaf/core/internal'
import { changeCatalogContents, loadShardCatalog } from '@looseleaf/index-engine/internal'

/** Reads the layout in the catalog of one shard. */
export async function layoutAt(driver: Driver, number: number): Promise<StoreLayout> {
  return (await loadShardCatalog(driver.shards[number]!))!.layout!
}

/** Replaces the announced moves in all catalogs, as another process does. */
export async function replaceMoves(
  driver: Driver,
  moves: readonly LayoutMove[],
  revision: number,
): Promise<void> {
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision, moves },
  }))
}
