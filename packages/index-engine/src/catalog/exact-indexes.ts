import type { IndexDefinitionData } from '@looseleaf/core'
import { getOrInsert, type CatalogEntry, type ExactStep, type ShardCatalog } from '@looseleaf/core/internal'
import type { Catalog } from './catalog.ts'

/** Tells whether most rows of an index are local, so that it is worth being exact. Claims are never exact. */
export function hasNearRows({ shardOn, near, unique }: IndexDefinitionData): boolean {
  return !unique && (shardOn === 'id' || near === true)
}

/** Tells whether readers of an index have to protect themselves, because its rows may be deleted at once. */
export function isProtected({ exact }: Pick<CatalogEntry, 'exact'>): boolean {
  return exact === 'protected' || exact === 'on'
}

/** By catalog, because every read asks. */
const protectedTables = new WeakMap<Catalog, ReadonlySet<string>>()

/** Returns the tables of the indexes whose readers have to protect themselves. */
export function protectedTablesOf(catalog: Catalog): ReadonlySet<string> {
  return getOrInsert(
    protectedTables,
    catalog,
    ({ indexes }) => new Set(indexes.filter(isProtected).map(({ table }) => table)),
  )
}

/** By catalog, because every write needs the steps. */
const steps = new WeakMap<ShardCatalog, ReadonlyMap<string, ExactStep>>()

/**
 * Returns the steps of the exact indexes by table, as the catalog of one shard has them. A write goes by the catalog of its entity's shard,
 * whose epoch its commit carries: the catalogs of other shards may be a change behind.
 */
export function exactStepsOf(catalog: ShardCatalog): ReadonlyMap<string, ExactStep> {
  return getOrInsert(steps, catalog, ({ indexes }) => {
    const present = indexes.filter(({ state }) => state !== 'dropped')
    return new Map(present.flatMap(({ table, exact }) => (exact === undefined ? [] : [[table, exact]])))
  })
}
