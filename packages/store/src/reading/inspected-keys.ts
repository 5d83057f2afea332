import { formatId, type Bag, type CatalogEntry, type Key } from '@looseleaf/core'
import {
  deriveEntryRows,
  fromKeyValue,
  keyIdentity,
  shardOfRow,
  tableSpec,
  type EngineContext,
} from '@looseleaf/index-engine'

/** A value of an index row by the name of its column; undefined for a text that is too long to be kept whole. */
export interface InspectedValue {
  readonly column: string
  readonly value: ReturnType<typeof fromKeyValue>
}

/** The values of an index row, or of a claim. */
export function inspectedKey(entry: CatalogEntry, key: Key): readonly InspectedValue[] {
  return tableSpec(entry).columns.map(({ name, type }, i) => {
    const value = key[i]
    return { column: name, value: value === undefined ? undefined : fromKeyValue(type, value) }
  })
}

/** The keys of the rows that an entity has to have in an index, and their shards, by what makes them this row and no other. */
export function rowsToHave(
  { router }: EngineContext,
  entry: CatalogEntry,
  id: Uint8Array,
  bag: Bag,
): ReadonlyMap<string, { readonly key: Key; readonly shard: number }> {
  const rows = deriveEntryRows(entry, bag).keys.map((key) => {
    const shard = shardOfRow(entry, router, key, id)
    return [rowIdentity(key, shard, id), { key, shard }] as const
  })
  return new Map(rows)
}

export function rowIdentity(key: Key, shard: number, id: Uint8Array): string {
  return `${shard} ${formatId(id)} ${keyIdentity(key)}`
}
