import { type CallOptions, type CatalogEntry } from '@looseleaf/core'
import {
  indexesWithLostTables,
  isInUse,
  sameEntry,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine'
import { exclusively } from './catalog-lease.ts'
import { dropUnused, prepareTables, readWhole, tablesOf, takeOut } from './exchange-indexes.ts'
import { requireMayDrop } from './table-rights.ts'
import { areClaimsOfAny } from './which-index.ts'

/**
 * Begins indexes anew whose table is missing on a shard, as after a restore of backups that left it out: each goes as
 * `dropIndex` lets it go, and the same definition comes as a new generation, `building` until the cleaner has filled it.
 * The missing table is not created again under its name: a process that read the catalog before would take it, empty,
 * for the index, whereas a table that is not there makes it read the catalog.
 */
export async function replaceLostIndexes(context: EngineContext, options: CallOptions = {}): Promise<void> {
  const lostOf = ({ indexes }: Catalog): Promise<readonly CatalogEntry[]> =>
    indexesWithLostTables(context.driver, indexes, options)

  if ((await lostOf(context.catalog.current())).length === 0) return
  await exclusively(context, options, async () => {
    // Another process may have been about to drop it, or has done this already.
    const catalog = await readWhole(context, options)
    const lost = tablesOf(await lostOf(catalog))
    if (lost.size === 0) return
    await requireMayDrop(context.driver.shards, options)
    const coming = await prepareTables(context, toBeginAnew(catalog.indexes, lost), options)
    await takeOut(
      context,
      (now) => {
        // Another process may have dropped, hidden or restored some by then.
        const again = toBeginAnew(now, lost).filter((entry) => coming.some((each) => sameEntry(each, entry)))
        const going = now.filter(({ table }) => lost.has(table))
        const others = now.filter(({ table }) => !lost.has(table))
        const alone = others.filter(
          (entry) =>
            isInUse(entry) && areClaimsOfAny(entry, going) && !areClaimsOfAny(entry, [...others, ...again]),
        )
        return {
          going: [...going, ...alone],
          coming: coming.filter((entry) => again.some((each) => sameEntry(each, entry))),
        }
      },
      options,
    )
    await dropUnused(context, coming, options)
  })
}

/** Of those with these tables, which are lost: a hidden one is of no use to anybody then, and who wants it again adds it. */
function toBeginAnew(indexes: readonly CatalogEntry[], lost: ReadonlySet<string>): readonly CatalogEntry[] {
  const others = indexes.filter(({ table }) => !lost.has(table))
  return indexes.filter(
    (entry) => lost.has(entry.table) && isInUse(entry) && (!entry.hidden || areClaimsOfAny(entry, others)),
  )
}
