import type { Driver, IndexDefinitionData, Router, Shard } from '@looseleaf/core'
import { systemRandomness, type CatalogEntry, type ShardCatalog } from '@looseleaf/core/internal'
import {
  CATALOG_FORMAT,
  contentsOf,
  copiedEpochs,
  DEFAULT_QUERY_TIME_MS,
  entriesOf,
  firstLayout,
  loadShardCatalog,
  requirementsOf,
  tableName,
  presentEntries,
  presentShards,
  type StoreDriver,
} from '@looseleaf/index-engine/internal'
import { arrangeShards, type ArrangedShards } from './arrange-shards.ts'
import { refuse } from './check-shard.ts'
import { requireOwnTables } from './check-tables.ts'
import { hasEntityTable, holdsEntities } from './holds-entities.ts'
import { createIndexTable, createTables } from '../catalog/create-tables.ts'
import type { OpenStoreOptions } from './open-store.ts'
import { withPolicies } from '../catalog/policies.ts'
import { firstStep, hasSnapshots } from '../catalog/switch-exact.ts'

const HINT =
  'Check that its address still leads to the same database. If its data is lost for good, `looseleaf init --accept-empty-shards` makes an empty shard.'

export type InitialiseOptions = Pick<OpenStoreOptions, 'acceptEmptyShards' | 'policies' | 'queryTimeMs'>

/**
 * Creates the missing tables of a store, and writes the first catalog with its policies and indexes. In a store without entities the
 * indexes are ready at once. Several processes may do this concurrently. Throws `LAYOUT_MISMATCH` if an empty shard replaces one of a
 * store in use, unless `acceptEmptyShards` is set.
 */
export async function initialise(
  given: StoreDriver,
  router: Router,
  definitions: readonly IndexDefinitionData[],
  { acceptEmptyShards, policies, queryTimeMs }: InitialiseOptions,
): Promise<void> {
  let { driver, catalogs } = await load(given, router)
  const other = catalogs.findIndex((catalog) => catalog !== undefined)
  if (other > 0 && !acceptEmptyShards) {
    // Another process that makes the store writes shard 0 first, so its catalog is there by now.
    ;({ driver, catalogs } = await load(given, router))
    if (catalogs[0] === undefined && !driver.removed?.has(0)) {
      refuse(
        driver.shards[0] as Shard,
        `it is empty, but shard ${driver.shards[other]?.name} belongs to a store already. ${HINT}`,
      )
    }
  }
  const existing = catalogs.find((catalog) => catalog !== undefined)
  const first = firstEntries(definitions)
  // Tables of a shard with a catalog are not compared: an earlier version may have made them with other columns.
  const added = presentEntries(driver).filter(([number]) => catalogs[number] === undefined)
  await Promise.all(added.map(([, shard]) => requireOwnTables(shard, existing?.indexes ?? first)))
  if (!acceptEmptyShards) {
    await refuseEmptyShards(driver, catalogs)
    await requireEntityTables(driver, catalogs)
  }
  await Promise.all(presentShards(driver).map((shard) => createTables(shard)))
  const indexes = existing?.indexes ?? (await createFirstIndexes(driver, first))
  const layout = firstLayout(
    router,
    driver.shards.map(({ name }) => name),
  )
  // Only processes that know exact indexes open such a store, so a new one has them from the beginning.
  const isExact = existing === undefined && hasSnapshots(driver)
  const contents = {
    ...withPolicies({}, policies),
    layout,
    ...(isExact && { exactIndexes: true as const }),
    entityTable: entityTableOf(driver),
    indexes: isExact ? indexes.map((entry) => ({ ...entry, ...firstStep(entry, driver) })) : indexes,
  }
  const firstContents = { ...contents, requires: requirementsOf(contents) }
  let source = existing
  for (const [shardNumber, shard] of presentEntries(driver)) {
    const catalog: ShardCatalog = {
      ...(source === undefined ? { epoch: 1 } : await copiedEpochs(shard, { epoch: 0 }, source)),
      format: CATALOG_FORMAT,
      storeId: source?.storeId ?? systemRandomness.uuid(),
      shardNumber,
      shardCount: driver.shards.length,
      router: source?.router ?? router.fingerprint,
      ...contentsOf(source ?? firstContents),
      queryTimeMs: source === undefined ? (queryTimeMs ?? DEFAULT_QUERY_TIME_MS) : source.queryTimeMs,
    }
    // The first process to write shard 0 determines the store's id and contents. The others copy its catalog.
    const isFirst = await shard.catalog.init(catalog)
    source ??= await loadShardCatalog(shard)
    if (!isFirst && shardNumber > 0) await requireNumber(shard, shardNumber)
  }
}

/** Throws `LAYOUT_MISMATCH` if another shard of the list led to the same database, which has its number by now. */
async function requireNumber(shard: Shard, number: number): Promise<void> {
  const found = await loadShardCatalog(shard)
  if (found === undefined || found.shardNumber === number) return
  refuse(
    shard,
    `it is shard ${found.shardNumber} of the store by now, and was given as shard ${number} of a new one. Give the database of every shard once. Processes that make a store at the same time have to give its shards in the same order.`,
  )
}

/**
 * Throws `LAYOUT_MISMATCH` for an empty shard of a store in use. A store gets its catalogs on all shards before its first entity, so such a
 * shard has lost its data, or its address leads to another database. A shard that has entities but no catalog gets a new one.
 */
async function refuseEmptyShards(
  driver: StoreDriver,
  catalogs: readonly (ShardCatalog | undefined)[],
): Promise<void> {
  const present = presentEntries(driver)
  if (present.every(([number]) => catalogs[number] !== undefined)) return
  const holding = await Promise.all(
    present.map(async ([number, shard]) => ((await holdsEntities(shard)) ? [number] : [])),
  )
  const hold = holding.flat()
  const inUse = hold.find((number) => catalogs[number] !== undefined)
  if (inUse === undefined) return
  for (const [number, shard] of present) {
    // Another process may have written the catalog since.
    if (hold.includes(number) || (await loadShardCatalog(shard)) !== undefined) continue
    refuse(
      shard,
      `it is empty, but shard ${(driver.shards[inUse] as Shard).name} holds entities of a store in use. ${HINT}`,
    )
  }
}

/** Returns the entries of the indexes of a new store, without their state. */
function firstEntries(definitions: readonly IndexDefinitionData[]): readonly Omit<CatalogEntry, 'state'>[] {
  // `addIndex` makes a second generation of a second definition with the same name.
  const first = [...new Map(definitions.toReversed().map((each) => [each.name, each])).values()].toReversed()
  return first.flatMap(entriesOf).map((entry) => ({ ...entry, generation: 1, table: tableName(entry, 1) }))
}

/**
 * Throws `LAYOUT_MISMATCH` for a shard that has a catalog without the name of the table of entities, and no table of this name: the store
 * has its entities in another one.
 */
async function requireEntityTables(
  driver: StoreDriver,
  catalogs: readonly (ShardCatalog | undefined)[],
): Promise<void> {
  for (const [number, shard] of presentEntries(driver)) {
    const catalog = catalogs[number]
    if (catalog === undefined || catalog.entityTable !== undefined || shard.entityTable === undefined)
      continue
    if (await hasEntityTable(shard)) continue
    refuse(
      shard,
      `it has a catalog, but no table ${shard.entityTable}. Give the driver the name of the table with the entities of the store (entityTable). If its data is lost for good, \`looseleaf init --accept-empty-shards\` makes an empty table.`,
    )
  }
}

/** Returns the name of the table of entities, which is one option of the driver for all of its shards. */
export function entityTableOf(driver: StoreDriver): string | undefined {
  return presentShards(driver)[0]?.entityTable
}

/**
 * Creates the tables of these indexes for a store without a catalog. The indexes are `building` if there are entities, as after a restore
 * without the `looseleaf_*` tables.
 */
async function createFirstIndexes(
  driver: Driver,
  entries: readonly Omit<CatalogEntry, 'state'>[],
): Promise<readonly CatalogEntry[]> {
  const hold = await Promise.all(driver.shards.map((shard) => holdsEntities(shard)))
  const state = hold.includes(true) ? 'building' : 'ready'
  const indexes = entries.map((entry): CatalogEntry => ({ ...entry, state }))
  await Promise.all(indexes.flatMap((entry) => driver.shards.map((shard) => createIndexTable(shard, entry))))
  return indexes
}

async function load(driver: StoreDriver, router: Router): Promise<ArrangedShards> {
  const catalogs = await Promise.all(
    driver.shards.map(async (shard, number) =>
      driver.removed?.has(number) ? undefined : loadShardCatalog(shard),
    ),
  )
  return arrangeShards(driver, router, { catalogs, silent: new Map() })
}
