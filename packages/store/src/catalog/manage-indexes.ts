import { type CallOptions, type CatalogEntry, type IndexDefinitionData, type Shard } from '@looseleaf/core'
import {
  changeCatalog,
  entriesOf,
  indexesWithLostTables,
  isEntryOf,
  isInUse,
  loadCatalog,
  nextGenerations,
  sameEntry,
  tableSpec,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine'
import { exclusively } from './catalog-lease.ts'
import { createIndexTable } from './create-tables.ts'
import { requireMayCreate, requireMayDrop } from './table-rights.ts'
import { areClaimsOfAny, entriesMeant, type WhichIndex } from './which-index.ts'

/**
 * Adds indexes while the store is in use: creates their tables, then makes every writer write them (state `building`), all
 * at once. The cleaner fills them and makes them ready. Nothing happens for a definition that the store has as it is; one
 * that is hidden is shown again, and a change of `onMisfit` alone takes effect at once; any other changed definition
 * becomes a new generation beside the old one.
 */
export async function addIndex(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions = {},
): Promise<void> {
  await exclusively(context, options, async () => {
    while (!(await bringIntoUse(context, definitions, options)));
  })
}

/**
 * What is missing of these definitions, all at once. False where another process, which thought that this one was dead, has dropped
 * meanwhile what was there of them: an index without the claims that it would have shared must not come into use.
 */
async function bringIntoUse(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<boolean> {
  const { indexes } = await readWhole(context, options)
  const wanted = definitions.flatMap(entriesOf)
  const there = wanted.filter((each) => isThere(each, indexes))
  const missing = wanted.filter(
    (each, i) => !there.includes(each) && wanted.findIndex((other) => sameEntry(other, each)) === i,
  )
  if (missing.length === 0) {
    await makeAsWanted(context, definitions, options)
    return true
  }
  const coming = await prepareTables(context, missing, options)
  let isWhole = true
  const changed = await changeCatalog(
    context.driver,
    (all) => {
      isWhole = there.every((each) => isThere(each, all))
      return isWhole
        ? withComing(
            all.map((entry) => asWanted(entry, definitions)),
            coming,
          )
        : undefined
    },
    options,
  )
  context.catalog.adopt(changed)
  await dropUnused(context, coming, options)
  return isWhole
}

/** Whether one of these entries is in use and is enough for this one. */
function isThere(entry: IndexDefinitionData, indexes: readonly CatalogEntry[]): boolean {
  return indexes.some((other) => isInUse(other) && sameEntry(other, entry))
}

/** As `addIndex`, without a word to the shards about those that the store has as they are. */
export async function addIndexes(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
): Promise<void> {
  const { indexes } = await context.catalog.reload()
  const isKnown = (definition: IndexDefinitionData): boolean =>
    entriesOf(definition).every((each) =>
      indexes.some(
        (entry) => isInUse(entry) && sameEntry(entry, each) && asWanted(entry, definitions) === entry,
      ),
    )
  const absent = definitions.filter((definition) => !isKnown(definition))
  if (absent.length > 0) await addIndex(context, absent)
}

/**
 * Drops an index while the store is in use: first no process may query it any more, then its tables go, then it is no
 * longer written. Claims that a generation has to have which stays are left. False if there is none.
 */
export async function dropIndex(
  context: EngineContext,
  which: WhichIndex,
  options: CallOptions = {},
): Promise<boolean> {
  return exclusively(context, options, async () => {
    const { indexes } = await readWhole(context, options)
    const meant = entriesMeant(which, indexes)
    if (meant.length === 0) return false
    await requireMayDrop(context.driver.shards, options)
    const tables = tablesOf(meant)
    // Another process may have added a generation by then which shares the claims.
    const going = (now: readonly CatalogEntry[]): readonly CatalogEntry[] => {
      const staying = now.filter(({ table }) => !tables.has(table))
      return now.filter(
        (entry) => tables.has(entry.table) && !(isInUse(entry) && areClaimsOfAny(entry, staying)),
      )
    }
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
  const lost = ({ indexes }: Catalog): Promise<readonly CatalogEntry[]> =>
    indexesWithLostTables(context.driver, indexes, options)

  if ((await lost(context.catalog.current())).length === 0) return
  await exclusively(context, options, async () => {
    // Another process may have been about to drop it, or has done this already.
    const catalog = await readWhole(context, options)
    const without = await lost(catalog)
    if (without.length === 0) return
    await requireMayDrop(context.driver.shards, options)
    const others = catalog.indexes.filter((entry) => !without.includes(entry))
    // A hidden one that has lost rows is of no use to anybody: who wants it again adds it.
    const again = without.filter(
      (entry) => isInUse(entry) && (!entry.hidden || areClaimsOfAny(entry, others)),
    )
    const alone = others.filter(
      (entry) => areClaimsOfAny(entry, without) && !areClaimsOfAny(entry, [...others, ...again]),
    )
    const coming = await prepareTables(context, again, options)
    await takeOut(context, () => [...without, ...alone], coming, options)
    await dropUnused(context, coming, options)
  })
}

/** The catalog as all shards have it now: who changes it relies on no older word of one that does not answer. */
async function readWhole({ driver, catalog }: EngineContext, options: CallOptions): Promise<Catalog> {
  const read = await loadCatalog(driver, options)
  catalog.adopt(read)
  return read
}

/** Nobody may query these any more, and the others come; then their tables go, then they are no longer written. */
async function takeOut(
  context: EngineContext,
  goingOf: (indexes: readonly CatalogEntry[]) => readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  let going: readonly CatalogEntry[] = []
  let tables = tablesOf(going)
  for (const state of ['retiring', 'dropped'] as const) {
    // A reader with an older catalog must not find the table there but no longer written: it goes before the writing ends.
    if (state === 'dropped') await dropTables(context, going, options)
    // Another process may have been through with it already: what is dropped stays so.
    const isNext = (entry: CatalogEntry): boolean => tables.has(entry.table) && entry.state !== 'dropped'
    const changed = await changeCatalog(
      context.driver,
      (indexes) => {
        if (state === 'retiring') {
          going = goingOf(indexes)
          tables = tablesOf(going)
        }
        return (state === 'retiring' ? withComing(indexes, coming, tables) : indexes).map((entry) =>
          isNext(entry) ? { ...entry, state } : entry,
        )
      },
      // A shard may forget it before the others hear of it; to go on then would be to drop tables that are read.
      {
        ...options,
        holds: ({ indexes }) => !indexes.some((entry) => tables.has(entry.table) && isInUse(entry)),
      },
    )
    context.catalog.adopt(changed)
  }
}

/**
 * Creates the tables for definitions to come. Their names are taken first, by entries that are `dropped`: whatever becomes
 * of this attempt, and however long it is held up, no other one ever uses them. The answer has those entries.
 */
async function prepareTables(
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
 * this one was dead, is left alone in its use, unless it is one of those that go; and what comes in the place of one of those stays
 * away where another process has dropped that meanwhile.
 */
function withComing(
  indexes: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
  going?: ReadonlySet<string>,
): readonly CatalogEntry[] {
  const tables = tablesOf(coming)
  const replaced = indexes.filter(({ table }) => going?.has(table))
  const others = indexes.filter((entry) => !replaced.includes(entry))
  return indexes.map((entry) => {
    if (!tables.has(entry.table) || entry.state !== 'dropped') return entry
    const isWanted = going === undefined || isThere(entry, replaced)
    return isWanted && !isThere(entry, others) ? { ...entry, state: 'building' } : entry
  })
}

/** Drops the tables that have not come into use: their names are of no use to anybody else. */
async function dropUnused(
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

function tablesOf(entries: readonly CatalogEntry[]): ReadonlySet<string> {
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

/** What becomes of misfits is a matter of the writers alone, and a hidden index is whole: the rows are the same. */
async function makeAsWanted(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<void> {
  const isAsWanted = (entry: CatalogEntry): boolean => asWanted(entry, definitions) === entry
  if (context.catalog.current().indexes.every(isAsWanted)) return
  const changed = await changeCatalog(
    context.driver,
    (indexes) => indexes.map((entry) => asWanted(entry, definitions)),
    options,
  )
  context.catalog.adopt(changed)
}

/**
 * The entry, shown and with the `onMisfit` of its definition among these; the same object where it is like that. Claims have no
 * misfits, and several definitions may share them.
 */
function asWanted(entry: CatalogEntry, definitions: readonly IndexDefinitionData[]): CatalogEntry {
  const wanted = definitions.find((definition) => isEntryOf(entry, definition))
  if (wanted === undefined || !isInUse(entry)) return entry
  const { hidden, ...shown } = entry
  const { onMisfit } = entry.unique ? entry : wanted
  return hidden || entry.onMisfit !== onMisfit ? { ...shown, onMisfit } : entry
}

async function everyShard(context: EngineContext, work: (shard: Shard) => Promise<void>): Promise<void> {
  await Promise.all(context.driver.shards.map(work))
}
