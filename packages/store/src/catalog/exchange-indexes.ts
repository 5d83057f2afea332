import {
  type CallOptions,
  type CatalogEntry,
  type IndexDefinitionData,
  type IndexState,
  type Shard,
} from '@looseleaf/core'
import {
  changeCatalog,
  isInUse,
  loadCatalog,
  nextGenerations,
  sameEntry,
  tableSpec,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine'
import { createIndexTable } from './create-tables.ts'
import { requireMayCreate } from './table-rights.ts'

/*
 * Steps of whoever has the lease of the catalog. Another process may have thought that this one was dead and taken the lease, so each
 * change of the catalog goes by the indexes of its moment, and not by what was read before.
 */

/** The catalog as all shards have it now: who changes it relies on no older word of one that does not answer. */
export async function readWhole({ driver, catalog }: EngineContext, options: CallOptions): Promise<Catalog> {
  const read = await loadCatalog(driver, options)
  catalog.adopt(read)
  return read
}

/** What goes, and what comes in use with the same change of the catalog. */
interface Exchange {
  readonly going: readonly CatalogEntry[]
  readonly coming: readonly CatalogEntry[]
}

/**
 * Nobody may query what goes any more, and what comes is there; then the tables of what goes are dropped, then it is no longer
 * written. `exchange` is asked with the indexes of the moment.
 */
export async function takeOut(
  context: EngineContext,
  exchange: (indexes: readonly CatalogEntry[]) => Exchange,
  options: CallOptions,
): Promise<void> {
  let going: readonly CatalogEntry[] = []
  let tables = tablesOf(going)
  // Another process may have been through with it already: what is dropped stays so.
  const withState = (indexes: readonly CatalogEntry[], state: IndexState): readonly CatalogEntry[] =>
    indexes.map((entry) =>
      tables.has(entry.table) && entry.state !== 'dropped' ? { ...entry, state } : entry,
    )
  // A shard may forget it before the others hear of it; to go on then would be to drop tables that are read.
  const holds = ({ indexes }: Pick<Catalog, 'indexes'>): boolean =>
    !indexes.some((entry) => tables.has(entry.table) && isInUse(entry))
  const retired = await changeCatalog(
    context.driver,
    (indexes) => {
      const asked = exchange(indexes)
      // What an earlier try has retired stays on its way out, though a shard may have forgotten it since.
      const begun = indexes.filter((entry) => entry.state === 'retiring' && tables.has(entry.table))
      going = [...new Set([...asked.going, ...begun])]
      tables = tablesOf(going)
      return withState(withComing(indexes, asked.coming, tables), 'retiring')
    },
    { ...options, holds },
  )
  context.catalog.adopt(retired)
  // A reader with an older catalog must not find the table there but no longer written: it goes before the writing ends.
  await dropTables(context, going, options)
  const dropped = await changeCatalog(context.driver, (indexes) => withState(indexes, 'dropped'), {
    ...options,
    holds,
  })
  context.catalog.adopt(dropped)
}

/**
 * Creates the tables for definitions to come. Their names are taken first, by entries that are `dropped`: whatever becomes
 * of this attempt, and however long it is held up, no other one ever uses them. The answer has those entries.
 */
export async function prepareTables(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<readonly CatalogEntry[]> {
  if (definitions.length === 0) return []
  let coming = nextGenerations(context.catalog.current().indexes, definitions)
  await requireMayCreate(context.driver.shards, coming, options)
  await changeCatalog(
    context.driver,
    (indexes) => {
      coming = nextGenerations(indexes, definitions)
      return [...indexes, ...coming]
    },
    {
      ...options,
      holds: ({ indexes }) => {
        const taken = tablesOf(indexes)
        return coming.every(({ table }) => taken.has(table))
      },
    },
  )
  for (const entry of coming) {
    await everyShard(context, (shard) => createIndexTable(shard, entry, options))
  }
  return coming
}

/**
 * The indexes, with those to come in use: `building`. One that another process has added meanwhile, which thought that
 * this one was dead, is left alone in its use, unless it is one of those that go.
 */
export function withComing(
  indexes: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
  going: ReadonlySet<string> = new Set(),
): readonly CatalogEntry[] {
  const tables = tablesOf(coming)
  const others = indexes.filter(({ table }) => !going.has(table))
  return indexes.map((entry) =>
    tables.has(entry.table) && entry.state === 'dropped' && !isThere(entry, others)
      ? { ...entry, state: 'building' }
      : entry,
  )
}

/** Drops the tables that have not come into use: their names are of no use to anybody else. */
export async function dropUnused(
  context: EngineContext,
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  const known = tablesOf(context.catalog.current().indexes)
  await dropTables(
    context,
    coming.filter(({ table }) => !known.has(table)),
    options,
  )
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

/** Whether one of these entries is in use and is enough for this one. */
export function isThere(entry: IndexDefinitionData, indexes: readonly CatalogEntry[]): boolean {
  return indexes.some((other) => isInUse(other) && sameEntry(other, entry))
}

async function everyShard(context: EngineContext, work: (shard: Shard) => Promise<void>): Promise<void> {
  await Promise.all(context.driver.shards.map(work))
}
