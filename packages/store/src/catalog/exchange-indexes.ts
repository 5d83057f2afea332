import type { CallOptions, IndexDefinitionData, Shard } from '@looseleaf/core'
import type { CatalogEntry, IndexState } from '@looseleaf/core/internal'
import {
  changeCatalog,
  isInUse,
  loadCatalog,
  nextGenerations,
  sameEntry,
  tableSpec,
  presentShards,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { createIndexTable } from './create-tables.ts'
import { requireMayCreate } from './table-rights.ts'

/*
 * Steps of the process that has the lease of the catalog. If this process is blocked, its lease may expire and another process may take it.
 * So each change of the catalog starts from the indexes at that moment, and not from those read before.
 */

/** Reads the current catalog of all shards. Rejects if a shard does not answer, since a change must not rely on older knowledge of it. */
export async function readWhole({ driver, catalog }: EngineContext, options: CallOptions): Promise<Catalog> {
  const read = await loadCatalog(driver, options)
  catalog.adopt(read)
  return read
}

/** Indexes to take out of use, and indexes that come into use with the same change of the catalog. */
interface Exchange {
  readonly going: readonly CatalogEntry[]
  readonly coming: readonly CatalogEntry[]
}

/**
 * Takes indexes out of use in three steps: first queries of `going` are rejected and `coming` is in use, then the tables of `going` are
 * dropped, then writers stop writing them. `exchange` is called with the current indexes for each attempt to change the catalog.
 */
export async function takeOut(
  context: EngineContext,
  exchange: (indexes: readonly CatalogEntry[]) => Exchange,
  options: CallOptions,
): Promise<void> {
  let going: readonly CatalogEntry[] = []
  let tables = tablesOf(going)
  // Another process may have finished the drop, so a dropped index stays dropped.
  const withState = (indexes: readonly CatalogEntry[], state: IndexState): readonly CatalogEntry[] =>
    indexes.map((entry) =>
      tables.has(entry.table) && entry.state !== 'dropped' ? { ...entry, state } : entry,
    )
  // A failover may lose the change on one shard before the others have it. Its table must not be dropped while it is queried there.
  const holds = ({ indexes }: Pick<Catalog, 'indexes'>): boolean =>
    !indexes.some((entry) => tables.has(entry.table) && isInUse(entry))
  const retired = await changeCatalog(
    context.driver,
    (indexes) => {
      const wanted = exchange(indexes)
      // Indexes that an earlier attempt of this change has retired stay on their way out, even if a shard has lost that change.
      const begun = indexes.filter((entry) => entry.state === 'retiring' && tables.has(entry.table))
      going = [...new Set([...wanted.going, ...begun])]
      tables = tablesOf(going)
      return withState(withComing(indexes, wanted.coming, tables), 'retiring')
    },
    { ...options, holds },
  )
  context.catalog.adopt(retired)
  // The table goes before writers stop. Otherwise a reader with an older catalog would query a table that is no longer written.
  await dropTables(context, going, options)
  const dropped = await changeCatalog(context.driver, (indexes) => withState(indexes, 'dropped'), {
    ...options,
    holds,
  })
  context.catalog.adopt(dropped)
}

/**
 * Creates the tables of new generations, and returns their entries. First reserves the names of the tables by `dropped` entries in the
 * catalog, so that no other attempt ever uses them, even if this one fails or is blocked.
 */
export async function prepareTables(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<readonly CatalogEntry[]> {
  if (definitions.length === 0) return []
  let coming = nextGenerations(context.catalog.current().indexes, definitions)
  await requireMayCreate(presentShards(context.driver), coming, options)
  await changeCatalog(
    context.driver,
    (indexes) => {
      coming = nextGenerations(indexes, definitions)
      return [...indexes, ...coming]
    },
    {
      ...options,
      holds: ({ indexes }) => {
        const reserved = tablesOf(indexes)
        return coming.every(({ table }) => reserved.has(table))
      },
    },
  )
  for (const entry of coming) {
    await everyShard(context, (shard) => createIndexTable(shard, entry, options))
  }
  return coming
}

/**
 * Returns the indexes with `coming` in the state `building`. Leaves out a coming index if another process has added the same one, unless
 * that one is going.
 */
export function withComing(
  indexes: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
  going: ReadonlySet<string> = new Set(),
): readonly CatalogEntry[] {
  const tables = tablesOf(coming)
  const others = indexes.filter(({ table }) => !going.has(table))
  return indexes.map((entry) =>
    tables.has(entry.table) && entry.state === 'dropped' && !isInUseAmong(entry, others)
      ? { ...entry, state: 'building' }
      : entry,
  )
}

/** Drops the tables of indexes that have not come into use. Their names are never used again. */
export async function dropUnused(
  context: EngineContext,
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  const known = tablesOf(context.catalog.current().indexes)
  const unused = coming.filter(({ table }) => !known.has(table))
  await dropTables(context, unused, options)
}

export function tablesOf(entries: readonly CatalogEntry[]): ReadonlySet<string> {
  return new Set(entries.map(({ table }) => table))
}

async function dropTables(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  for (const entry of entries) {
    await everyShard(context, (shard) => shard.dropIndexTable(tableSpec(entry), options))
  }
}

/** Returns true if one of these entries is in use and has the same rows as this one. */
export function isInUseAmong(entry: IndexDefinitionData, indexes: readonly CatalogEntry[]): boolean {
  return indexes.some((other) => isInUse(other) && sameEntry(other, entry))
}

async function everyShard(context: EngineContext, work: (shard: Shard) => Promise<void>): Promise<void> {
  await Promise.all(presentShards(context.driver).map(work))
}
