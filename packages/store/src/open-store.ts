import { randomUUID } from 'node:crypto'
import {
  LooseleafError,
  type CatalogEntry,
  type Driver,
  type IndexDefinitionData,
  type Router,
  type ShardCatalog,
} from '@looseleaf/core'
import {
  DEFAULT_QUERY_TIME_MS,
  loadCatalog,
  propagateCatalog,
  tableName,
  type Catalog,
} from '@looseleaf/index-engine'
import { createIndexTable, createTables } from './create-tables.ts'

/**
 * Creates the tables of a store where they are missing and writes the first catalog. On a store that nobody has
 * written to yet the indexes are ready at once: there is nothing to fill; and it is known from the start when its first
 * process `defers`. Several processes may do this at once.
 */
export async function initialise(
  driver: Driver,
  router: Router,
  definitions: readonly IndexDefinitionData[],
  { defers, queryTimeMs }: { readonly defers: boolean; readonly queryTimeMs: number | undefined },
): Promise<void> {
  let catalogs = await loadAndCheck(driver, router)
  const other = catalogs.findIndex((catalog) => catalog !== undefined)
  if (other > 0) {
    // Another process may be doing the same, in the order of the shards: then the first has its catalog by now.
    catalogs = await loadAndCheck(driver, router)
    if (catalogs[0] === undefined) {
      refuse(driver, 0, `it is empty, but shard ${driver.shards[other]?.name} belongs to a store already.`)
    }
  }
  const [existing] = catalogs
  await Promise.all(driver.shards.map((shard) => createTables(shard)))
  const indexes = existing?.indexes ?? (await createFirstIndexes(driver, definitions))
  let source = existing
  for (const [shardNumber, shard] of driver.shards.entries()) {
    const catalog: ShardCatalog = {
      epoch: source?.epoch ?? 1,
      storeId: source?.storeId ?? randomUUID(),
      shardNumber,
      shardCount: driver.shards.length,
      router: router.fingerprint,
      indexes: source?.indexes ?? indexes,
      mayDefer: source === undefined ? defers || undefined : source.mayDefer,
      queryTimeMs: source === undefined ? (queryTimeMs ?? DEFAULT_QUERY_TIME_MS) : source.queryTimeMs,
    }
    // Whoever writes shard 0 first has named the store; the others take its word.
    await shard.catalog.init(catalog)
    source ??= await shard.catalog.load()
  }
}

/**
 * The indexes of a store that has no catalog yet, with their tables. Where the catalog was lost with entities left, as
 * after a restore without the `looseleaf_*` tables, they have to be filled.
 */
async function createFirstIndexes(
  driver: Driver,
  definitions: readonly IndexDefinitionData[],
): Promise<readonly CatalogEntry[]> {
  const firstPages = await Promise.all(driver.shards.map((shard) => shard.entities.pageByAdded(0, 1)))
  const state = firstPages.every((page) => page.length === 0) ? 'ready' : 'building'
  // A second definition under a name is its second generation, for `addIndex` to make.
  const first = [...new Map(definitions.toReversed().map((one) => [one.name, one])).values()].toReversed()
  const indexes = first.map(({ name, properties, shardOn, onMisfit }): CatalogEntry => {
    const table = tableName({ name }, 1)
    return { name, properties, shardOn, onMisfit, generation: 1, table, state }
  })
  await Promise.all(indexes.flatMap((entry) => driver.shards.map((shard) => createIndexTable(shard, entry))))
  return indexes
}

/**
 * Loads the catalog, finishing a change that died half way, and makes sure that these shards are those of one store, made
 * with this `queryTimeMs` if one is given.
 */
export async function openCatalog(driver: Driver, router: Router, queryTimeMs?: number): Promise<Catalog> {
  const catalogs = await loadAndCheck(driver, router)
  const epochs = new Set(catalogs.map((catalog) => catalog?.epoch))
  const catalog = await (epochs.size === 1 ? loadCatalog(driver) : propagateCatalog(driver))
  if (queryTimeMs === undefined || queryTimeMs === catalog.queryTimeMs) return catalog
  throw new LooseleafError(
    'LAYOUT_MISMATCH',
    `The store was made with a queryTimeMs of ${catalog.queryTimeMs}, which stays; got ${queryTimeMs}. Leave the option out, or give the same.`,
  )
}

async function loadAndCheck(driver: Driver, router: Router): Promise<(ShardCatalog | undefined)[]> {
  const catalogs = await Promise.all(driver.shards.map((shard) => shard.catalog.load()))
  for (const [number, catalog] of catalogs.entries()) {
    if (catalog !== undefined) checkLayout(driver, number, catalog, catalogs[0], router)
  }
  return catalogs
}

function checkLayout(
  driver: Driver,
  number: number,
  catalog: ShardCatalog,
  first: ShardCatalog | undefined,
  router: Router,
): void {
  const count = driver.shards.length
  if (catalog.shardCount !== count) {
    refuse(driver, number, `it belongs to a store of ${catalog.shardCount} shards, but ${count} were given.`)
  }
  if (catalog.shardNumber !== number) {
    refuse(
      driver,
      number,
      `it is number ${catalog.shardNumber} of its store, but was given as number ${number}.`,
    )
  }
  if (first !== undefined && catalog.storeId !== first.storeId) {
    refuse(
      driver,
      number,
      `it belongs to another store (${catalog.storeId}) than shard 0 (${first.storeId}).`,
    )
  }
  if (catalog.router !== router.fingerprint) {
    refuse(
      driver,
      number,
      `its store is routed by ${catalog.router}, but the router given is ${router.fingerprint}.`,
    )
  }
}

function refuse(driver: Driver, number: number, what: string): never {
  const shard = driver.shards[number]?.name
  throw new LooseleafError('LAYOUT_MISMATCH', `Shard ${number} (${shard}): ${what}`, { shard })
}
