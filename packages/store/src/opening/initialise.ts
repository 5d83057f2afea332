import {
  isLooseleafError,
  systemRandomness,
  type CatalogEntry,
  type Driver,
  type IndexDefinitionData,
  type Router,
  type Shard,
  type ShardCatalog,
} from '@looseleaf/core'
import {
  CATALOG_FORMAT,
  contentsOf,
  DEFAULT_QUERY_TIME_MS,
  entriesOf,
  loadShardCatalog,
  requirementsOf,
  tableName,
} from '@looseleaf/index-engine'
import { checkLayouts, refuse } from './check-layout.ts'
import { createIndexTable, createTables } from '../catalog/create-tables.ts'
import type { OpenStoreOptions } from './open-store.ts'
import { withPolicies } from '../catalog/policies.ts'

const HINT =
  'Does its address lead where it did? If its data is lost for good, `looseleaf init --accept-empty-shards` begins it anew.'

export type InitialiseOptions = Pick<OpenStoreOptions, 'acceptEmptyShards' | 'policies' | 'queryTimeMs'>

/**
 * Creates the tables of a store where they are missing and writes the first catalog. On a store that nobody has
 * written to yet the indexes are ready at once: there is nothing to fill; and `defers` goes into the
 * first catalog. Several processes may do this at once. Throws `LAYOUT_MISMATCH` where an empty shard takes the place of
 * one of a store in use, unless that is accepted.
 */
export async function initialise(
  driver: Driver,
  router: Router,
  definitions: readonly IndexDefinitionData[],
  { acceptEmptyShards, policies, queryTimeMs }: InitialiseOptions,
): Promise<void> {
  let catalogs = await load(driver, router)
  const other = catalogs.findIndex((catalog) => catalog !== undefined)
  if (other > 0 && !acceptEmptyShards) {
    // Another process may be doing the same, in the order of the shards: then the first has its catalog by now.
    catalogs = await load(driver, router)
    if (catalogs[0] === undefined) {
      refuse(
        driver,
        0,
        `it is empty, but shard ${driver.shards[other]?.name} belongs to a store already. ${HINT}`,
      )
    }
  }
  if (!acceptEmptyShards) await refuseEmptyShards(driver, catalogs)
  const existing = catalogs.find((catalog) => catalog !== undefined)
  await Promise.all(driver.shards.map((shard) => createTables(shard)))
  const indexes = existing?.indexes ?? (await createFirstIndexes(driver, definitions))
  const said = { ...withPolicies({}, policies), indexes }
  const first = { ...said, requires: requirementsOf(said) }
  let source = existing
  for (const [shardNumber, shard] of driver.shards.entries()) {
    const catalog: ShardCatalog = {
      epoch: source?.epoch ?? 1,
      format: CATALOG_FORMAT,
      storeId: source?.storeId ?? systemRandomness.uuid(),
      shardNumber,
      shardCount: driver.shards.length,
      router: router.fingerprint,
      ...contentsOf(source ?? first),
      queryTimeMs: source === undefined ? (queryTimeMs ?? DEFAULT_QUERY_TIME_MS) : source.queryTimeMs,
    }
    // Whoever writes shard 0 first has named the store; the others take its word.
    await shard.catalog.init(catalog)
    source ??= await loadShardCatalog(shard)
  }
}

/**
 * A store is made on all its shards before anything is written. So where one holds entities, all have had a catalog, and an
 * empty one is not what it was, or not the one that was meant. Catalogs that were lost beside their entities are made again.
 */
async function refuseEmptyShards(
  driver: Driver,
  catalogs: readonly (ShardCatalog | undefined)[],
): Promise<void> {
  if (catalogs.every((catalog) => catalog !== undefined)) return
  const hold = await Promise.all(driver.shards.map(holdsEntities))
  const inUse = hold.findIndex((holds, number) => holds && catalogs[number] !== undefined)
  if (inUse === -1) return
  for (const [number, shard] of driver.shards.entries()) {
    // By now another process that was just making the store has made it.
    if (hold[number] || (await loadShardCatalog(shard)) !== undefined) continue
    refuse(
      driver,
      number,
      `it is empty, but shard ${inUse} (${(driver.shards[inUse] as Shard).name}) holds entities of a store in use. ${HINT}`,
    )
  }
}

async function holdsEntities(shard: Shard): Promise<boolean> {
  try {
    return (await shard.entities.pageByAdded(0, 1, { maxBody: 0 })).length > 0
  } catch (error) {
    if (isLooseleafError(error, 'NOT_MIGRATED')) return false
    throw error
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
  const hold = await Promise.all(driver.shards.map(holdsEntities))
  const state = hold.includes(true) ? 'building' : 'ready'
  // A second definition under a name is its second generation, for `addIndex` to make.
  const first = [...new Map(definitions.toReversed().map((one) => [one.name, one])).values()].toReversed()
  const indexes = first
    .flatMap(entriesOf)
    .map((entry): CatalogEntry => ({ ...entry, generation: 1, table: tableName(entry, 1), state }))
  await Promise.all(indexes.flatMap((entry) => driver.shards.map((shard) => createIndexTable(shard, entry))))
  return indexes
}

async function load(driver: Driver, router: Router): Promise<readonly (ShardCatalog | undefined)[]> {
  const catalogs = await Promise.all(driver.shards.map((shard) => loadShardCatalog(shard)))
  checkLayouts(driver, router, catalogs)
  return catalogs
}
