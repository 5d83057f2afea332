import type { Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import type { KeyValue } from '../workload/indexes.ts'
import { includedOf, nextVersion, rowsOf, type Placement } from '../sides/index-rows.ts'

/** Rows of one table on one shard, for loaders that do not know entries. */
export interface TableRows {
  readonly shard: number
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: KeyValue[][]
}

/** Returns every row of these entries in the tables that Looseleaf creates, without `updated`, which the loader sets. */
export function tableRowsOf(
  placement: Placement,
  entries: readonly { readonly id: Uint8Array; readonly entry: Entry }[],
  encode: (bag: Bag) => Uint8Array,
): TableRows[] {
  const tables = new Map<string, TableRows>()
  const add = (shard: number, table: string, columns: readonly string[], row: KeyValue[]): void => {
    const key = `${shard} ${table}`
    let found = tables.get(key)
    if (found === undefined) tables.set(key, (found = { shard, table, columns, rows: [] }))
    found.rows.push(row)
  }
  const version = nextVersion(0)
  for (const { id, entry } of entries) {
    for (const { index, shard, key } of rowsOf(placement, id, entry)) {
      const included = includedOf(index, entry)
      const stamp = ['entity_id', 'version']
      if (included === undefined) add(shard, index.table, [...index.columns, ...stamp], [...key, id, version])
      else
        add(
          shard,
          index.table,
          [...index.columns, 'included', ...stamp],
          [...key, encode(included), id, version],
        )
      if (index.claims !== undefined)
        add(shard, index.claims, [...index.columns, ...stamp], [...key, id, version])
    }
    add(placement.router.shardOfId(id), 'entities', ['id', 'version', 'body'], [id, version, encode(entry)])
  }
  return [...tables.values()]
}
