import {
  LooseleafError,
  type Driver,
  type IndexDefinitionData,
  type Router,
  type Shard,
} from '@looseleaf/core'
import { isOutage, type ShardCatalog } from '@looseleaf/core/internal'
import {
  askShards,
  changeCatalogContents,
  contentsEpochOf,
  firstLayout,
  loadShardCatalogs,
  mergeCatalogs,
  notMigrated,
  presentNumbers,
  presentShards,
  propagateCatalog,
  type Catalog,
  type ShardAnswers,
  type StoreDriver,
} from '@looseleaf/index-engine/internal'
import { arrangeShards, type ArrangedShards } from './arrange-shards.ts'
import { checkLateShard } from './check-shard.ts'
import { entityTableOf, initialise } from './initialise.ts'
import { lateShard } from './late-shard.ts'
import { createStoreDriver, warnLater, warnOfSettings, type JoinReports } from './store-driver.ts'
import type { PolicyChange } from '../catalog/policies.ts'

export interface OpenStoreOptions extends JoinReports {
  readonly router: Router
  /** True to create missing tables. */
  readonly migrate: boolean
  /** True to let an empty shard become one of a store in use. */
  readonly acceptEmptyShards: boolean
  /** Indexes of a new store. */
  readonly indexes: readonly IndexDefinitionData[]
  /** Policies of a new store. */
  readonly policies: PolicyChange
  readonly queryTimeMs: number | undefined
}

/** The shards of one store in the order of its layout, and its catalog. */
export interface OpenedStore {
  readonly driver: StoreDriver
  readonly catalog: Catalog
  /** Errors of the shards that have not answered, by number. */
  readonly silent: ShardAnswers['silent']
}

/**
 * Checks that these shards belong to one store, made with this `queryTimeMs` if one is given, and reads its catalog. If some shards do not
 * answer, checks these when they do, and creates and changes nothing. At least one has to answer.
 */
export async function openStore(driver: Driver, options: OpenStoreOptions): Promise<OpenedStore> {
  const given = arrangeShards(driver, options.router, await askShards(driver), options)
  const arranged = given.hasUnasked ? { ...given, ...(await askShards(given.driver)) } : given
  const opened =
    arranged.silent.size > 0 ? openWithout(arranged, options) : await openWhole(arranged, options)
  checkQueryTime(opened.catalog, options.queryTimeMs)
  await leaveRemoved(opened)
  return opened
}

/** Closes the connections to removed shards, which may be in the list. */
async function leaveRemoved({ driver, catalog }: OpenedStore): Promise<void> {
  const present = presentShards(driver)
  for (const number of driver.removed ?? []) {
    const name = catalog.layout?.shards[number]?.name
    if (name !== undefined && !present.some((shard) => shard.name === name)) await driver.leave?.(name)
  }
}

/**
 * Loads the catalog, and finishes a change of it that a crash has interrupted. With `migrate` it first creates missing tables, and adds the
 * layout, and the name of the table of entities, to the catalog of a store that was made before these were recorded.
 */
async function openWhole(given: ArrangedShards, options: OpenStoreOptions): Promise<OpenedStore> {
  const { router, migrate } = options
  if (migrate) await initialise(given.driver, router, options.indexes, options)
  const answers = { catalogs: await loadShardCatalogs(given.driver), silent: given.silent }
  const { driver, silent, catalogs } = arrangeShards(given.driver, router, answers, options)
  const catalog = mergeCatalogs(catalogs)
  if (migrate && catalogs.some((each) => each !== undefined && lacksRecords(each, driver)))
    return { driver, silent, catalog: await addRecords(driver, router) }
  return { driver, silent, catalog: hasSameContents(catalogs) ? catalog : await propagateCatalog(driver) }
}

function hasSameContents(catalogs: ArrangedShards['catalogs']): boolean {
  const known = catalogs.filter((catalog) => catalog !== undefined)
  return new Set(known.map(contentsEpochOf)).size === 1
}

function lacksRecords({ layout, entityTable }: ShardCatalog, driver: StoreDriver): boolean {
  return layout === undefined || (entityTable === undefined && entityTableOf(driver) !== undefined)
}

/**
 * Writes the layout that the store has by its router, and the name of the table of entities, where the catalog lacks them. Moves nothing, and
 * refuses no process that does not know them.
 */
function addRecords(driver: StoreDriver, router: Router): Promise<Catalog> {
  const first = firstLayout(
    router,
    driver.shards.map(({ name }) => name),
  )
  return changeCatalogContents(driver, (contents) => ({
    ...contents,
    layout: contents.layout ?? first,
    entityTable: contents.entityTable ?? entityTableOf(driver),
  }))
}

function checkQueryTime(catalog: Catalog, queryTimeMs: number | undefined): void {
  if (queryTimeMs === undefined || queryTimeMs === catalog.queryTimeMs) return
  throw new LooseleafError(
    'LAYOUT_MISMATCH',
    `The store was made with a queryTimeMs of ${catalog.queryTimeMs}, which cannot be changed; got ${queryTimeMs}. Leave the option out, or give the same.`,
  )
}

/** Opens a store of which some shards do not answer, with the catalog of the others. Decision 15 has the reason why that is enough. */
function openWithout(
  { driver, catalogs, silent }: ArrangedShards,
  { router, migrate, ...reports }: OpenStoreOptions,
): OpenedStore {
  for (const [number, shard] of driver.shards.entries()) {
    if (catalogs[number] === undefined && !silent.has(number) && !driver.removed?.has(number))
      throw migrate ? notNow(silent) : notMigrated(shard)
  }
  // At least one shard has answered, and each that has answered has a catalog.
  const known = catalogs.find((catalog) => catalog !== undefined) as ShardCatalog
  if (migrate) reports.onWarning(notNow(silent).message)
  const identity = { router, catalog: known }
  const shards = driver.shards.map((shard, number) => {
    if (driver.removed?.has(number)) return undefined
    return silent.has(number)
      ? lateShard(shard, {
          check(catalog) {
            const why = `was taken for shard ${number} while it did not answer. Open the store again now that it answers.`
            checkLateShard(shard, catalog, identity, number, why)
          },
          onAnswer: () => warnLater(shard, reports),
        })
      : shard
  })
  const catalog = mergeCatalogs(catalogs, [...silent.values()])
  const { layout } = catalog
  return { driver: createStoreDriver({ driver, identity, shards, layout, reports }), catalog, silent }
}

/** Makes the error of `migrate` while shards do not answer. */
function notNow(silent: ShardAnswers['silent']): LooseleafError {
  const [error] = silent.values()
  return new LooseleafError(
    'SHARD_UNAVAILABLE',
    `Nothing was created or changed: \`migrate\` needs every shard. ${error?.message}`,
    { shard: error?.shard, cause: error },
  )
}

/** Warns of shards that do not answer, and of unsafe settings of the others. */
export async function warnOfShards(
  { driver, silent }: OpenedStore,
  onWarning: (message: string) => void,
): Promise<void> {
  for (const number of presentNumbers(driver)) {
    const shard = driver.shards[number] as Shard
    const error = silent.get(number)
    if (error !== undefined) {
      onWarning(`Calls that need this shard fail until it answers. ${error.message}`)
      continue
    }
    await warnOfSettings(shard, onWarning).catch((reason: unknown) => {
      // The store opens even if a shard stops answering now.
      if (!isOutage(reason)) throw reason
      onWarning(`The settings of a shard could not be read. ${reason.message}`)
    })
  }
}
