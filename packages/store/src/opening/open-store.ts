import {
  isOutage,
  LooseleafError,
  type Driver,
  type IndexDefinitionData,
  type Router,
  type Shard,
  type ShardCatalog,
  type StoreEvents,
} from '@looseleaf/core'
import {
  askShards,
  loadCatalog,
  mergeCatalogs,
  notMigrated,
  propagateCatalog,
  type Catalog,
  type ShardAnswers,
} from '@looseleaf/index-engine'
import { checkLayout, checkLayouts } from './check-layout.ts'
import { initialise } from './initialise.ts'
import { lateShard } from './late-shard.ts'
import type { PolicyChange } from '../catalog/policies.ts'

export interface OpenStoreOptions {
  readonly router: Router
  /** Whether to create what is missing. */
  readonly migrate: boolean
  /** Whether an empty shard may become one of a store in use. */
  readonly acceptEmptyShards: boolean
  /** Those of a store that is made now. */
  readonly indexes: readonly IndexDefinitionData[]
  /** Those of a store that is made now. */
  readonly policies: PolicyChange
  readonly queryTimeMs: number | undefined
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

/** The shards of one store, and what they say of it. */
export interface OpenedStore {
  readonly driver: Driver
  readonly catalog: Catalog
  /** Shards that have not answered, by number, and what has kept them from it. */
  readonly silent: ShardAnswers['silent']
}

/**
 * Makes sure that these shards are those of one store, made with this `queryTimeMs` if one is given, and reads its catalog.
 * A shard that does not answer is left for later, as long as another one does; nothing is created or changed then.
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

/** Loads the catalog, and finishes a change of it that died half way. */
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

/**
 * Opens a store some of whose shards do not answer. What is known of it is what the others say; see decision 15 for why that
 * is enough.
 */
function openWithout(
  driver: Driver,
  { catalogs, silent }: ShardAnswers,
  { router, migrate, onWarning, detached }: OpenStoreOptions,
): OpenedStore {
  for (const [number, shard] of driver.shards.entries()) {
    if (catalogs[number] === undefined && !silent.has(number))
      throw migrate ? notNow(silent) : notMigrated(shard)
  }
  // One at the least has answered, and each that has answered has one.
  const heard = catalogs.find((catalog) => catalog !== undefined) as ShardCatalog
  if (migrate) onWarning(notNow(silent).message)
  const shards = driver.shards.map((shard, number) =>
    silent.has(number)
      ? lateShard(shard, {
          check(catalog) {
            if (catalog === undefined) throw notMigrated(shard)
            checkLayout(driver, router, number, catalog, heard)
          },
          // Nobody waits for these.
          onAnswer: () => void detached(() => tellWarnings(shard, onWarning)).catch(() => undefined),
        })
      : shard,
  )
  const catalog = mergeCatalogs(catalogs, [...silent.values()])
  return { driver: { shards, close: () => driver.close() }, catalog, silent }
}

/** What it says when tables or the catalog should be changed while shards do not answer. */
function notNow(silent: ShardAnswers['silent']): LooseleafError {
  const [error] = silent.values()
  return new LooseleafError(
    'SHARD_UNAVAILABLE',
    `Nothing was created or changed: \`migrate\` needs every shard. ${error?.message}`,
    { shard: error?.shard, cause: error },
  )
}

/** Tells of settings that endanger what is promised, and of shards that do not answer. */
export async function tellAllWarnings(
  { driver, silent }: OpenedStore,
  onWarning: (message: string) => void,
): Promise<void> {
  for (const [number, shard] of driver.shards.entries()) {
    const error = silent.get(number)
    if (error !== undefined) {
      onWarning(`Calls that need this shard fail until it answers. ${error.message}`)
      continue
    }
    await tellWarnings(shard, onWarning).catch((reason: unknown) => {
      // One that has answered, and does not any more, keeps no store from opening.
      if (!isOutage(reason)) throw reason
      onWarning(`The settings of a shard could not be looked at. ${reason.message}`)
    })
  }
}

async function tellWarnings(shard: Shard, onWarning: (message: string) => void): Promise<void> {
  for (const warning of await shard.warnings()) onWarning(warning)
}
