import type { Codec, Router } from '@looseleaf/core'
import type { CatalogEntry, Key } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  keyIdentity,
  mergeCatalogs,
  placementOfRouter,
  shardOfRow,
  tableSpec,
} from '@looseleaf/index-engine/internal'
import type { ReferenceDriver, ReferenceIndex } from '@looseleaf-tooling/kit/reference-driver'
import { isOf } from '../world/indexes.ts'

export interface PlacedRow {
  readonly shard: number
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

export function createCommittedRows(driver: ReferenceDriver, router: Router, codec: Codec): CommittedRows {
  const placement = placementOfRouter(router)
  /** Cached per table of an entry, because bodies never change. */
  const derived = new WeakMap<Uint8Array, Map<string, readonly PlacedRow[]>>()
  let merged: { epochs: string; entries: readonly CatalogEntry[] } = { epochs: '', entries: [] }

  function rowsOf(entry: CatalogEntry, id: Uint8Array, body: Uint8Array): readonly PlacedRow[] {
    const byTable = derived.get(body) ?? new Map<string, readonly PlacedRow[]>()
    derived.set(body, byTable)
    let rows = byTable.get(entry.table)
    if (rows === undefined) {
      const bag = codec.decode(body)
      const keys = isOf(entry.on, bag) ? deriveEntryRows(entry, bag).keys : []
      rows = keys.map((key) => ({
        key,
        shard: shardOfRow(entry, placement, key, id),
        identity: keyIdentity(key),
      }))
      byTable.set(entry.table, rows)
    }
    return rows
  }

  function tablesOf(entry: CatalogEntry): readonly ReferenceIndex[] {
    const spec = tableSpec(entry)
    return driver.shards.map((shard) => shard.index(spec))
  }

  return {
    entries() {
      const catalogs = driver.shards.map((shard) => shard.contents())
      const known = catalogs.filter((catalog) => catalog !== undefined)
      const epochs = known.map(({ epoch }) => epoch).join()
      if (known.length < catalogs.length) return []
      if (merged.epochs !== epochs) merged = { epochs, entries: mergeCatalogs(known).indexes }
      return merged.entries
    },
    rowsOf,
    tablesOf,
    each(entry, visit) {
      const tables = tablesOf(entry)
      for (const { entities } of driver.shards) {
        for (const { id, body } of entities.rows) {
          if (body === null) continue
          for (const row of rowsOf(entry, id, body)) {
            const table = tables[row.shard] as ReferenceIndex
            visit(row, id, table.versionOf(row.key, id) !== undefined)
          }
        }
      }
    },
    forget: () => void (merged = { epochs: '', entries: [] }),
  }
}
