import type { CallOptions } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import {
  indexesWithMissingTables,
  isInUse,
  sameEntry,
  presentShards,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { exclusively } from './catalog-lease.ts'
import { dropUnused, prepareTables, readWhole, tablesOf, takeOut } from './exchange-indexes.ts'
import { requireMayDrop } from './table-rights.ts'
import { areClaimsOfAny } from './index-selector.ts'

/**
 * Replaces indexes whose table is missing on a shard, as after a restore of backups without it. Takes each out of use as `dropIndex` does,
 * and adds the same definition as a new generation, `building` until the cleaner has filled it.
 *
 * Does not create the missing table again: a process with an older catalog would take the empty table for the whole index. Without a
 * table it reads the catalog.
 */
export async function replaceLostIndexes(context: EngineContext, options: CallOptions = {}): Promise<void> {
  const lostOf = ({ indexes }: Catalog): Promise<readonly CatalogEntry[]> =>
    indexesWithMissingTables(context.driver, indexes, options)

  if ((await lostOf(context.catalog.current())).length === 0) return
  await exclusively(context, options, async () => {
    // Another process may have dropped or replaced them since.
    const catalog = await readWhole(context, options)
    const lost = tablesOf(await lostOf(catalog))
    if (lost.size === 0) return
    await requireMayDrop(presentShards(context.driver), options)
    const coming = await prepareTables(context, replaceable(catalog.indexes, lost), options)
    await takeOut(
      context,
      (current) => {
        // Another process may have dropped, hidden or restored some of them.
        const replaced = replaceable(current, lost).filter((entry) =>
          coming.some((each) => sameEntry(each, entry)),
        )
        const going = current.filter(({ table }) => lost.has(table))
        const others = current.filter(({ table }) => !lost.has(table))
        const unneededClaims = others.filter(
          (entry) =>
            isInUse(entry) &&
            areClaimsOfAny(entry, going) &&
            !areClaimsOfAny(entry, [...others, ...replaced]),
        )
        return {
          going: [...going, ...unneededClaims],
          coming: coming.filter((entry) => replaced.some((each) => sameEntry(each, entry))),
        }
      },
      options,
    )
    await dropUnused(context, coming, options)
  })
}

/** Returns the indexes with missing tables that get a new generation. A hidden one gets none, unless others need it as their claims. */
function replaceable(indexes: readonly CatalogEntry[], lost: ReadonlySet<string>): readonly CatalogEntry[] {
  const others = indexes.filter(({ table }) => !lost.has(table))
  return indexes.filter(
    (entry) => lost.has(entry.table) && isInUse(entry) && (!entry.hidden || areClaimsOfAny(entry, others)),
  )
}
