import {
  LooseleafError,
  type Driver,
  type IndexDefinitionData,
  type Router,
  type Shard,
  type StoreEvents,
} from '@looseleaf/core'
import { isOutage, type ShardCatalog } from '@looseleaf/core/internal'
import {
  askShards,
  loadCatalog,
  mergeCatalogs,
  notMigrated,
  propagateCatalog,
  type Catalog,
  type ShardAnswers,
} from '@looseleaf/index-engine/internal'
import { checkLayout, checkLayouts } from './check-layout.ts'
import { initialise } from './initialise.ts'
import { lateShard } from './late-shard.ts'
import type { PolicyChange } from '../catalog/policies.ts'

export interface OpenStoreOptions {
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
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

/** The shards of one store, and its catalog. */
export interface OpenedStore {
  readonly driver: Driver
  readonly catalog: Catalog
  /** Errors of the shards that have not answered, by number. */
  readonly silent: ShardAnswers['silent']
}

/**
 * Checks that these shards belong to one store, made with this `queryTimeMs` if one is given, and reads its catalog. If some shards do not
 * answer, checks these when they do, and creates and changes nothing. At least one has to answer.
 */
export async function openStore(driver: Driver, options: OpenStoreOptions): Promise<OpenedStore> {
  const answers = await askShards(driver)
  checkLayouts(driver, options.router, answers.catalogs)
  const opened =
    answers.silent.size > 0
      ? openWithout(driver, answers, options)
      : { driver, catalog: await openWhole(driver, options), silent: answers.silent }
  checkQueryTime(opened.catalog, options.queryTimeMs)
  return opened
}

/** Loads the catalog, and finishes a change of it that a crash has interrupted. */
async function openWhole(driver: Driver, options: OpenStoreOptions): Promise<Catalog> {
  if (options.migrate) await initialise(driver, options.router, options.indexes, options)
  const catalog = await loadCatalog(driver)
  return new Set(catalog.epochs).size === 1 ? catalog : propagateCatalog(driver)
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
  driver: Driver,
  { catalogs, silent }: ShardAnswers,
  { router, migrate, onWarning, detached }: OpenStoreOptions,
): OpenedStore {
  for (const [number, shard] of driver.shards.entries()) {
    if (catalogs[number] === undefined && !silent.has(number))
      throw migrate ? notNow(silent) : notMigrated(shard)
  }
  // At least one shard has answered, and each that has answered has a catalog.
  const known = catalogs.find((catalog) => catalog !== undefined) as ShardCatalog
  if (migrate) onWarning(notNow(silent).message)
  const shards = driver.shards.map((shard, number) =>
    silent.has(number)
      ? lateShard(shard, {
          check(catalog) {
            if (catalog === undefined) throw notMigrated(shard)
            checkLayout(driver, router, number, catalog, known)
          },
          // Runs in the background: no call waits for warnings.
          onAnswer: () => void detached(() => warnOfSettings(shard, onWarning)).catch(() => undefined),
        })
      : shard,
  )
  const catalog = mergeCatalogs(catalogs, [...silent.values()])
  return { driver: { shards, close: () => driver.close() }, catalog, silent }
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
  for (const [number, shard] of driver.shards.entries()) {
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

async function warnOfSettings(shard: Shard, onWarning: (message: string) => void): Promise<void> {
  for (const warning of await shard.warnings()) onWarning(warning)
}
