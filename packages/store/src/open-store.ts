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
  changeCatalogContents,
  loadCatalog,
  propagateCatalog,
  tableName,
  tableSpec,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine'

/**
 * Creates the tables of a store where they are missing and writes the first catalog. On a store that nobody has
 * written to yet the indexes are ready at once: there is nothing to fill. Several processes may do this at once.
 */
export async function initialise(
  driver: Driver,
  router: Router,
  definitions: readonly IndexDefinitionData[],
): Promise<void> {
  const [existing, ...others] = await loadAndCheck(driver, router)
  const other = others.findIndex((catalog) => catalog !== undefined)
  if (existing === undefined && other !== -1) {
    refuse(driver, 0, `it is empty, but shard ${driver.shards[other + 1]?.name} belongs to a store already.`)
  }
  await Promise.all(driver.shards.map((shard) => shard.createTables()))
  const indexes =
    existing?.indexes ?? definitions.map((definition): CatalogEntry => firstGeneration(definition))
  await Promise.all(
    indexes
      .filter((entry) => entry.state !== 'dropped')
      .flatMap((entry) => driver.shards.map((shard) => shard.createIndexTable(tableSpec(entry)))),
  )
  let source = existing
  for (const [shardNumber, shard] of driver.shards.entries()) {
    const catalog: ShardCatalog = {
      epoch: source?.epoch ?? 1,
      storeId: source?.storeId ?? randomUUID(),
      shardNumber,
      shardCount: driver.shards.length,
      router: router.fingerprint,
      indexes: source?.indexes ?? indexes,
    }
    // Whoever writes shard 0 first has named the store; the others take its word.
    await shard.catalog.init(catalog)
    source ??= await shard.catalog.load()
  }
}

function firstGeneration(definition: IndexDefinitionData): CatalogEntry {
  const { name, properties, shardOn, onMisfit } = definition
  return {
    name,
    properties,
    shardOn,
    onMisfit,
    generation: 1,
    table: tableName(definition, 1),
    state: 'ready',
  }
}

/** Loads the catalog, finishing a change that died half way, and makes sure that these shards are those of one store. */
export async function openCatalog(driver: Driver, router: Router): Promise<Catalog> {
  const catalogs = await loadAndCheck(driver, router)
  const epochs = new Set(catalogs.map((catalog) => catalog?.epoch))
  return epochs.size === 1 ? loadCatalog(driver) : propagateCatalog(driver)
}

/** Makes it known, once for the life of a store, that queries have to look for pending rows. */
export async function announceDeferring(context: EngineContext): Promise<void> {
  if (context.catalog.current().mayDefer) return
  const changed = await changeCatalogContents(context.driver, ({ indexes, mayDefer }) =>
    mayDefer === true ? undefined : { indexes, mayDefer: true },
  )
  context.catalog.adopt(changed)
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
