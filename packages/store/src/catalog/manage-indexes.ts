import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import {
  changeCatalog,
  changeCatalogContents,
  entriesOf,
  isEntryOf,
  isInUse,
  sameEntry,
  presentShards,
  type CatalogContents,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { exclusively } from './catalog-lease.ts'
import { firstStep } from './switch-exact.ts'
import {
  dropUnused,
  isInUseAmong,
  prepareTables,
  readWhole,
  tablesOf,
  takeOut,
  withComing,
} from './exchange-indexes.ts'
import { requireMayDrop } from './table-rights.ts'
import { areClaimsOfAny, selectEntries, type IndexSelector } from './index-selector.ts'

/**
 * Adds indexes while the store is in use. Creates their tables, then makes every writer write all of them (state `building`). The cleaner
 * fills them and makes them ready. Does nothing for a definition that the store has unchanged. A hidden index is shown again, and a
 * change of `onMisfit` alone takes effect at once. Any other change becomes a new generation beside the old one.
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
 * Brings the missing entries of these definitions into use, in one change of the catalog. Returns false if another process that has taken
 * over the lease has dropped the present ones, because an index must not come into use without the claims that it shares.
 */
async function bringIntoUse(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<boolean> {
  const { indexes } = await readWhole(context, options)
  const wanted = definitions.flatMap(entriesOf)
  const present = wanted.filter((each) => isInUseAmong(each, indexes))
  const missing = wanted.filter(
    (each, i) => !present.includes(each) && wanted.findIndex((other) => sameEntry(other, each)) === i,
  )
  if (missing.length === 0) {
    await makeAsWanted(context, definitions, options)
    return true
  }
  const { shards } = context.driver
  const prepared = shards.length
  const coming = await prepareTables(context, missing, options)
  let isWhole = true
  const changed = await changeCatalogContents(
    context.driver,
    (contents) => {
      const { indexes: all } = contents
      // A shard that has joined since lacks the tables.
      isWhole = shards.length === prepared && present.every((each) => isInUseAmong(each, all))
      if (!isWhole) return undefined
      const wantedNow = all.map((entry) => asWanted(entry, definitions))
      return { ...contents, indexes: withSteps(context, contents, withComing(wantedNow, coming), coming) }
    },
    options,
  )
  context.catalog.adopt(changed)
  await dropUnused(context, coming, options)
  return isWhole
}

/** Makes the coming indexes exact in a store that has exact indexes. */
function withSteps(
  { driver }: EngineContext,
  { exactIndexes }: Pick<CatalogContents, 'exactIndexes'>,
  indexes: readonly CatalogEntry[],
  coming: readonly CatalogEntry[],
): readonly CatalogEntry[] {
  if (!exactIndexes) return indexes
  const tables = tablesOf(coming)
  return indexes.map((entry) =>
    tables.has(entry.table) && isInUse(entry) ? { ...entry, ...firstStep(entry, driver) } : entry,
  )
}

/** Does `addIndex` for the definitions that the store does not have unchanged. If it has all of them, it only reads the catalog. */
export async function addIndexes(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
): Promise<void> {
  const { indexes } = await context.catalog.reload()
  const unchanged = indexes.filter((entry) => asWanted(entry, definitions) === entry)
  const isKnown = (definition: IndexDefinitionData): boolean =>
    entriesOf(definition).every((each) => isInUseAmong(each, unchanged))
  const absent = definitions.filter((definition) => !isKnown(definition))
  if (absent.length > 0) await addIndex(context, absent)
}

/**
 * Drops an index while the store is in use; see `takeOut` for the steps. Leaves claims that another generation in use needs. Returns false
 * if there is no such index.
 */
export async function dropIndex(
  context: EngineContext,
  which: IndexSelector,
  options: CallOptions = {},
): Promise<boolean> {
  return exclusively(context, options, async () => {
    const { indexes } = await readWhole(context, options)
    const selected = selectEntries(which, indexes)
    if (selected.length === 0) return false
    await requireMayDrop(presentShards(context.driver), options)
    const tables = tablesOf(selected)
    await takeOut(
      context,
      (current) => {
        // Another process may have dropped some of them, and added others.
        const known = current.filter(({ state, table }) => state !== 'dropped' || tables.has(table))
        const going = selectEntries(which, known)
        const staying = known.filter((entry) => !going.includes(entry))
        return {
          going: going.filter((entry) => !(isInUse(entry) && areClaimsOfAny(entry, staying))),
          coming: [],
        }
      },
      options,
    )
    return true
  })
}

/** Shows hidden indexes, and sets their `onMisfit`. Neither changes rows: a hidden index is whole, and only writers look at `onMisfit`. */
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
 * Returns the entry, not hidden, with the `onMisfit` and the `near` of its definition; the same object if that changes nothing. Claims keep their
 * `onMisfit`, because several definitions may share them.
 */
function asWanted(entry: CatalogEntry, definitions: readonly IndexDefinitionData[]): CatalogEntry {
  const wanted = definitions.find((definition) => isEntryOf(entry, definition))
  if (wanted === undefined || !isInUse(entry)) return entry
  const { hidden, near: _, ...shown } = entry
  const { onMisfit, near } = entry.unique ? entry : wanted
  const isAsWanted = !hidden && entry.onMisfit === onMisfit && entry.near === near
  return isAsWanted ? entry : { ...shown, onMisfit, ...(near && { near }) }
}
