import type { Driver, EntityTable, IndexTable, Shard } from '@looseleaf/core'

/** A guard of the protocol that is off. A checker that does not notice is no checker. */
export type Flaw = 'upsert overwrites' | 'remove is unguarded' | 'replace is unguarded'

export const flaws: readonly Flaw[] = ['upsert overwrites', 'remove is unguarded', 'replace is unguarded']

/** The driver, with one guard off; for tests of the checkers only. */
export function withFlaw(driver: Driver, flaw: Flaw): Driver {
  const shards = driver.shards.map((shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      entities: flaw === 'replace is unguarded' ? unguardedReplace(shard.entities) : shard.entities,
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = flawedIndex(shard.index(spec), flaw)))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}

/** Replaces whatever is there. */
function unguardedReplace(entities: EntityTable): EntityTable {
  return {
    ...entities,
    async replace(rows, options) {
      const found = await entities.readVersions(rows.map(({ id }) => id))
      return entities.replace(
        rows.map((row, i) => ({ ...row, base: found[i] ?? row.base })),
        options,
      )
    },
  }
}

function flawedIndex(table: IndexTable, flaw: Flaw): IndexTable {
  const regardless = <Row>(row: Row): Row & { before: number } => ({
    ...row,
    before: Number.MAX_SAFE_INTEGER,
  })
  return {
    ...table,
    async upsert(rows, options) {
      if (flaw === 'upsert overwrites') await table.remove(rows.map(regardless))
      await table.upsert(rows, options)
    },
    remove: (rows, options) =>
      table.remove(flaw === 'remove is unguarded' ? rows.map(regardless) : rows, options),
  }
}
