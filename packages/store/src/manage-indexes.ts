import {
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type IndexDefinitionData,
  type Shard,
} from '@looseleaf/core'
import {
  changeCatalog,
  indexesWithLostTables,
  sameRows,
  tableName,
  tableSpec,
  type EngineContext,
} from '@looseleaf/index-engine'
import { exclusively } from './catalog-lease.ts'
import { createIndexTable } from './create-tables.ts'

/**
 * Adds an index while the store is in use: creates its tables, then makes every writer write it (state `building`).
 * The cleaner fills it and makes it ready. Nothing happens where the store has this very definition already; a change of
 * `onMisfit` alone takes effect at once; any other changed definition becomes a new generation beside the old one.
 */
export async function addIndex(
  context: EngineContext,
  definition: IndexDefinitionData,
  options: CallOptions = {},
): Promise<void> {
  await exclusively(context, options, async () => {
    const catalog = await context.catalog.reload()
    const same = catalog.indexes.find((entry) => sameRows(entry, definition) && entry.state !== 'retiring')
    if (same !== undefined) {
      if (same.onMisfit !== definition.onMisfit)
        await changeMisfits(context, same.table, definition.onMisfit, options)
      return
    }
    const [entry] = await nextGenerations(context, [definition])
    if (entry === undefined) return
    await everyShard(context, (shard) => createIndexTable(shard, entry, options))
    context.catalog.adopt(
      await changeCatalog(context.driver, (indexes) => withEntries(indexes, [entry]), options),
    )
  })
}

/**
 * Drops an index while the store is in use: first no process may query it any more, then its tables go, then it is no
 * longer written. With a definition only its generation is dropped, with a name all of them. False if there is none.
 */
export async function dropIndex(
  context: EngineContext,
  which: string | IndexDefinitionData,
  options: CallOptions = {},
): Promise<boolean> {
  const meant = (entry: CatalogEntry): boolean =>
    entry.state !== 'dropped' && (typeof which === 'string' ? entry.name === which : sameRows(entry, which))

  return exclusively(context, options, async () => {
    const catalog = await context.catalog.reload()
    const going = catalog.indexes.filter(meant)
    if (going.length === 0) return false
    await takeOut(context, going, [], options)
    return true
  })
}

/**
 * Begins indexes anew whose table is missing on a shard, as after a restore of backups that left it out: each goes as
 * `dropIndex` lets it go, and the same definition comes as a new generation, `building` until the cleaner has filled it.
 * The missing table is not created again under its name: a process that read the catalog before would take it, empty,
 * for the index, whereas a table that is not there makes it read the catalog.
 */
export async function replaceLostIndexes(context: EngineContext, options: CallOptions = {}): Promise<void> {
  const lost = (): Promise<readonly CatalogEntry[]> =>
    indexesWithLostTables(context.driver, context.catalog.current().indexes, options)

  if ((await lost()).length === 0) return
  await exclusively(context, options, async () => {
    // Another process may have been about to drop it, or has done this already.
    await context.catalog.reload()
    const going = await lost()
    const again = await nextGenerations(
      context,
      going.filter(({ state }) => state !== 'retiring'),
    )
    for (const entry of again) {
      await everyShard(context, (shard) => createIndexTable(shard, entry, options))
    }
    if (going.length > 0) await takeOut(context, going, again, options)
  })
}

/** Nobody may query these any more, and the others come; then their tables go, then they are no longer written. */
async function takeOut(
  context: EngineContext,
  going: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  const tables = new Set(going.map((entry) => entry.table))
  for (const state of ['retiring', 'dropped'] as const) {
    // A reader with an older catalog must not find the table there but no longer written: it goes before the writing ends.
    if (state === 'dropped') {
      for (const entry of going) {
        await everyShard(context, (shard) => shard.dropIndexTable(tableSpec(entry), options))
      }
    }
    const changed = await changeCatalog(
      context.driver,
      (indexes) =>
        withEntries(indexes, coming).map((entry) => (tables.has(entry.table) ? { ...entry, state } : entry)),
      options,
    )
    context.catalog.adopt(changed)
  }
}

/** What becomes of misfits is a matter of the writers alone; the rows are the same. */
async function changeMisfits(
  context: EngineContext,
  table: string,
  onMisfit: CatalogEntry['onMisfit'],
  options: CallOptions,
): Promise<void> {
  const changed = await changeCatalog(
    context.driver,
    (indexes) => indexes.map((entry) => (entry.table === table ? { ...entry, onMisfit } : entry)),
    options,
  )
  context.catalog.adopt(changed)
}

/**
 * Entries for these definitions, each of one generation more than the last under its name. Dropped ones count, so that
 * no table's name is used twice.
 */
async function nextGenerations(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
): Promise<CatalogEntry[]> {
  const catalog = await (context.driver.shards[0] as Shard).catalog.load()
  const entries: CatalogEntry[] = []
  for (const { name, properties, shardOn, onMisfit } of definitions) {
    const generations = [...(catalog?.indexes ?? []), ...entries]
      .filter((entry) => entry.name === name)
      .map((entry) => entry.generation)
    const generation = Math.max(0, ...generations) + 1
    const table = tableName({ name }, generation)
    entries.push({ name, properties, shardOn, onMisfit, generation, table, state: 'building' })
  }
  return entries
}

/**
 * The indexes with these besides. A process that was stopped for longer than its lease may find that another has given
 * the generation to a definition of its own meanwhile.
 */
function withEntries(
  indexes: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
): readonly CatalogEntry[] {
  const fresh = coming.filter((entry) => {
    const there = indexes.find(({ table }) => table === entry.table)
    if (there === undefined) return true
    if (sameRows(there, entry)) return false
    throw new LooseleafError('SHARD_BUSY', `Another process has changed index ${entry.name} meanwhile.`)
  })
  return [...indexes, ...fresh]
}

async function everyShard(context: EngineContext, work: (shard: Shard) => Promise<void>): Promise<void> {
  await Promise.all(context.driver.shards.map(work))
}
