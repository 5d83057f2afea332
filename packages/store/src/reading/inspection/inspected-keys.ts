import { formatId, type Bag } from '@looseleaf/core'
import type { CatalogEntry, Key } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  fromKeyValue,
  keyIdentity,
  shardsOfRow,
  tableSpec,
  type EngineContext,
} from '@looseleaf/index-engine/internal'

/** A value of an index row with the name of its column. The value of a text that is too long for the column is undefined. */
export interface InspectedValue {
  readonly column: string
  readonly value: ReturnType<typeof fromKeyValue>
}

/** Returns the values of an index row or claim. */
export function inspectedKey(entry: CatalogEntry, key: Key): readonly InspectedValue[] {
  return tableSpec(entry).columns.map(({ name, type }, i) => {
    const value = key[i]
    return { column: name, value: value === undefined ? undefined : fromKeyValue(type, value) }
  })
}

/** Returns the keys and shards of the rows that an entity has to have in an index, by `rowIdentity`: while a move is announced, two rows. */
export function rowsToHave(
  { catalog }: EngineContext,
  entry: CatalogEntry,
  id: Uint8Array,
  bag: Bag,
): ReadonlyMap<string, { readonly key: Key; readonly shard: number }> {
  const { placement } = catalog.current()
  const rows = deriveEntryRows(entry, bag).keys.flatMap((key) =>
    shardsOfRow(entry, placement, key, id).map(
      (shard) => [rowIdentity(key, shard, id), { key, shard }] as const,
    ),
  )
  return new Map(rows)
}

/** Returns a text that is different for every row of an index. */
export function rowIdentity(key: Key, shard: number, id: Uint8Array): string {
  return `${shard} ${formatId(id)} ${keyIdentity(key)}`
}
