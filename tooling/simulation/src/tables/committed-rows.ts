import type { Codec } from '@looseleaf/core'
import type { CatalogEntry, Key } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  keyIdentity,
  mergeCatalogs,
  shardOfRow,
  shardsOfRow,
  tableSpec,
  type Placement,
} from '@looseleaf/index-engine/internal'
import type { ReferenceIndex } from '@looseleaf-tooling/kit/reference-driver'
import { isOf } from '../shapes/indexes.ts'
import type { Owners } from '../world/owners.ts'

export interface PlacedRow {
  /** Shards that must have it: one, or two while some processes read the source of a move and others its target. */
  readonly shards: readonly number[]
  readonly key: Key
  /** See `keyIdentity`. */
  readonly identity: string
}

/** Rows that the committed entities require, at this instant. */
export interface CommittedRows {
  /** Returns the catalog of all shards; empty until each shard has one. */
  entries(): readonly CatalogEntry[]
  /** Returns the rows of an entity with this body in the table of an entry. */
  rowsOf(entry: CatalogEntry, id: Uint8Array, body: Uint8Array): readonly PlacedRow[]
  /** Visits every row that an entity must have, and tells whether the row exists. */
  each(entry: CatalogEntry, visit: (row: PlacedRow, entityId: Uint8Array, isThere: boolean) => void): void
  /** Returns the tables of an entry, one per shard. */
  tablesOf(entry: CatalogEntry): readonly ReferenceIndex[]
  /** Call after a shard has fallen back: its next catalog may reuse an earlier epoch. */
  forget(): void
}

export function createCommittedRows(owners: Owners, codec: Codec): CommittedRows {
  /** Cached per table of an entry, because bodies never change. */
  const derived = new WeakMap<Uint8Array, Map<string, { placement: Placement; rows: readonly PlacedRow[] }>>()
  let merged: { epochs: string; entries: readonly CatalogEntry[] } = { epochs: '', entries: [] }

  function rowsOf(entry: CatalogEntry, id: Uint8Array, body: Uint8Array): readonly PlacedRow[] {
    const placement = owners.placement()
    const byTable =
      derived.get(body) ?? new Map<string, { placement: Placement; rows: readonly PlacedRow[] }>()
    derived.set(body, byTable)
    const known = byTable.get(entry.table)
    if (known?.placement === placement) return known.rows
    const bag = codec.decode(body)
    const keys = isOf(entry.on, bag) ? deriveEntryRows(entry, bag).keys : []
    const rows = keys.map((key) => ({
      key,
      shards: readingShards(entry, placement, key, id),
      identity: keyIdentity(key),
    }))
    byTable.set(entry.table, { placement, rows })
    return rows
  }

  function tablesOf(entry: CatalogEntry): readonly ReferenceIndex[] {
    const spec = tableSpec(entry)
    return owners.members().map((shard) => shard.index(spec))
  }

  return {
    entries() {
      const known = owners.catalogs()
      if (known.length === 0) return []
      const epochs = known.map(({ epoch }) => epoch).join()
      if (merged.epochs !== epochs) merged = { epochs, entries: mergeCatalogs(known).indexes }
      return merged.entries
    },
    rowsOf,
    tablesOf,
    each(entry, visit) {
      const tables = tablesOf(entry)
      for (const { id, body } of owners.rows()) {
        if (body === null) continue
        for (const row of rowsOf(entry, id, body))
          visit(
            row,
            id,
            row.shards.every((shard) => tables[shard]?.versionOf(row.key, id) !== undefined),
          )
      }
    },
    forget: () => void (merged = { epochs: '', entries: [] }),
  }
}

/** While a move is in the phase `target`, some processes may still read rows at its source. */
function readingShards(
  entry: CatalogEntry,
  placement: Placement,
  key: Key,
  id: Uint8Array,
): readonly number[] {
  const read = shardOfRow(entry, placement, key, id)
  const written = shardsOfRow(entry, placement, key, id)
  return written.at(-1) === read ? written : [read]
}
