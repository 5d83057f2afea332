import type { Driver, IndexTable, Shard } from '@looseleaf/core'

/** A driver whose index tables are others, each made once. */
export function withIndexTables(driver: Driver, replace: (table: IndexTable) => IndexTable): Driver {
  const shards = driver.shards.map((shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = replace(shard.index(spec))))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}
