import type { Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import type { KeyValue } from '../workload/indexes.ts'
import { includedOf, nextVersion, rowsOf, type Placement } from '../sides/index-rows.ts'

/** Rows of one table on one shard, for a loader that knows nothing of entries. */
export interface TableRows {
  readonly shard: number
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: KeyValue[][]
}

/** Every row that these entries have, in the tables that Looseleaf makes. `updated` is left to the database. */
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
      const last = ['entity_id', 'version']
      if (included === undefined) add(shard, index.table, [...index.columns, ...last], [...key, id, version])
      else
        add(
          shard,
          index.table,
          [...index.columns, 'included', ...last],
          [...key, encode(included), id, version],
        )
      if (index.claims !== undefined)
        add(shard, index.claims, [...index.columns, ...last], [...key, id, version])
    }
    add(placement.router.shardOfId(id), 'entities', ['id', 'version', 'body'], [id, version, encode(entry)])
  }
  return [...tables.values()]
}
