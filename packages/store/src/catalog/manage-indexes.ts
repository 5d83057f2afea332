import { type CallOptions, type CatalogEntry, type IndexDefinitionData } from '@looseleaf/core'
import {
  changeCatalog,
  entriesOf,
  isEntryOf,
  isInUse,
  sameEntry,
  type EngineContext,
} from '@looseleaf/index-engine'
import { exclusively } from './catalog-lease.ts'
import {
  dropUnused,
  isThere,
  prepareTables,
  readWhole,
  tablesOf,
  takeOut,
  withComing,
} from './exchange-indexes.ts'
import { requireMayDrop } from './table-rights.ts'
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

/** As `addIndex`, without a word to the shards about those that the store has as they are. */
export async function addIndexes(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
): Promise<void> {
  const { indexes } = await context.catalog.reload()
  const asTheyAre = indexes.filter((entry) => asWanted(entry, definitions) === entry)
  const isKnown = (definition: IndexDefinitionData): boolean =>
    entriesOf(definition).every((each) => isThere(each, asTheyAre))
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
    await takeOut(
      context,
      (now) => {
        // Another process may have dropped some by then, and added others.
        const known = now.filter(({ state, table }) => state !== 'dropped' || tables.has(table))
        const going = entriesMeant(which, known)
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
