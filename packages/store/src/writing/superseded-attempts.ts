import type { Bag } from '@looseleaf/core'
import { deriveEntryRows, keyIdentity, type Catalog } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from '@looseleaf/protocol/internal'

/**
 * Returns the rows that superseded attempts have written and that the committed bag does not have. The write may delete them like
 * lost rows, where their stamp is lower than its version: a later commit that has such a key stamps the row with its own, higher
 * version before it commits, and an earlier commit has been replaced.
 */
export function superfluousRows(
  { indexes }: Catalog,
  supersededRows: readonly PlacedKey[],
  bag: Bag | null,
): readonly PlacedKey[] {
  if (supersededRows.length === 0) return supersededRows
  const byTable = Map.groupBy(supersededRows, ({ entry }) => entry.table)
  return [...byTable].flatMap(([table, rows]) => {
    const entry = indexes.find((candidate) => candidate.table === table)
    // The index was dropped, or is being dropped.
    if (entry === undefined) return []
    const committedKeys = new Set(bag && deriveEntryRows(entry, bag).keys.map(keyIdentity))
    const distinct = new Map(rows.map((row) => [keyIdentity(row.key), row]))
    return [...distinct].flatMap(([identity, row]) => (committedKeys.has(identity) ? [] : [row]))
  })
}
