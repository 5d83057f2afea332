import { LooseleafError, type Driver, type Router } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'

/**
 * Checks that these shards belong to one store, in its order and with its router. Skips a shard without a known catalog, because it is
 * empty or does not answer. Throws `LAYOUT_MISMATCH`.
 */
export function checkLayouts(
  driver: Driver,
  router: Router,
  catalogs: readonly (ShardCatalog | undefined)[],
): void {
  let first: ShardCatalog | undefined
  for (const [number, catalog] of catalogs.entries()) {
    if (catalog === undefined) continue
    first ??= catalog
    checkLayout(driver, router, number, catalog, first)
  }
}

/** Does `checkLayouts` for one shard. It has to belong to the store of `other`. */
export function checkLayout(
  driver: Driver,
  router: Router,
  number: number,
  catalog: ShardCatalog,
  other: ShardCatalog,
): void {
  const count = driver.shards.length
  if (catalog.shardCount !== count) {
    refuse(
      driver,
      number,
      `it belongs to a store of ${catalog.shardCount} shards, but ${count} were given. Give all of its shards, in their order: a store keeps the number of shards that it was made with. For another number, make a new store and copy the entities with \`looseleaf export\` and \`looseleaf import\`.`,
    )
  }
  if (catalog.shardNumber !== number) {
    refuse(
      driver,
      number,
      `it is number ${catalog.shardNumber} of its store, but was given as number ${number}. Give the shards in the order of the store.`,
    )
  }
  if (catalog.storeId !== other.storeId) {
    refuse(
      driver,
      number,
      `it belongs to another store (${catalog.storeId}) than shard ${other.shardNumber} (${other.storeId}). Give the addresses of one store, or an empty database for a new one.`,
    )
  }
  if (catalog.router !== router.fingerprint) {
    refuse(
      driver,
      number,
      `its store is routed by ${catalog.router}, but the router given is ${router.fingerprint}. Give the router that the store was made with: another one would look for entities on the wrong shards.`,
    )
  }
}

export function refuse(driver: Driver, number: number, problem: string): never {
  const shard = driver.shards[number]?.name
  throw new LooseleafError('LAYOUT_MISMATCH', `Shard ${number} (${shard}): ${problem}`, { shard })
}
