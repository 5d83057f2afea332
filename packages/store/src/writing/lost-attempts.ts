import type { Bag, CatalogEntry, Key } from '@looseleaf/core'
import { deriveEntryRows, keyIdentity, type Catalog } from '@looseleaf/index-engine'
import type { PlacedKey } from '@looseleaf/protocol'

/**
 * Of the rows that attempts before a commit have written, those that its state does not have: it may delete them as any other that it
 * has lost, where their stamp is lower than its version. If a state has such a key, its write has stamped the row with a version of
 * its own first: one that was committed later has stamped it higher, and one before is past.
 */
export function rowsOfLostAttempts(
  { indexes }: Catalog,
  written: readonly PlacedKey[],
  bag: Bag | null,
): readonly PlacedKey[] {
  if (written.length === 0) return written
  const byTable = Map.groupBy(written, ({ entry }) => entry.table)
  return [...byTable.values()].flatMap((rows) => {
    const { table } = (rows[0] as PlacedKey).entry
    const entry = indexes.find((one) => one.table === table)
    // Its table has gone, or goes.
    if (entry === undefined) return []
    const own = new Set(keysOf(entry, bag).map(keyIdentity))
    const others = new Map(rows.map((row) => [keyIdentity(row.key), row]))
    return [...others].flatMap(([identity, row]) => (own.has(identity) ? [] : [row]))
  })
}

function keysOf(entry: CatalogEntry, bag: Bag | null): readonly Key[] {
  return bag === null ? [] : deriveEntryRows(entry, bag).keys
}
