import type { Driver, EntityReplace, EntityTable, IndexTable, Shard } from '@looseleaf/core'
import { tableName, tableSpec } from '@looseleaf/index-engine'
import { byGroup } from '../indexes.ts'

/** A guard of the protocol that is off. A checker that does not notice is no checker. */
export type Flaw =
  'upsert overwrites' | 'remove is unguarded' | 'replace is unguarded' | 'lost rows go at once'

export const flaws: readonly Flaw[] = [
  'upsert overwrites',
  'remove is unguarded',
  'replace is unguarded',
  'lost rows go at once',
]

/** The driver, with one guard off; for tests of the checkers only. */
export function withFlaw(driver: Driver, flaw: Flaw): Driver {
  const shards = driver.shards.map((shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      entities: flawedEntities(shard.entities, driver, flaw),
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = flawedIndex(shard.index(spec), flaw)))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}

function flawedEntities(entities: EntityTable, driver: Driver, flaw: Flaw): EntityTable {
  if (flaw === 'replace is unguarded') return unguardedReplace(entities)
  return flaw === 'lost rows go at once' ? hastyReplace(entities, driver) : entities
}

/** Right behind a commit it deletes the row of the state before, which a query that is under way may need. */
function hastyReplace(entities: EntityTable, { shards }: Driver): EntityTable {
  const spec = tableSpec({ ...byGroup, table: tableName(byGroup, 1) })
  async function removeLost({ id, version }: EntityReplace): Promise<void> {
    const tables = shards.map((shard) => shard.index(spec))
    const rows = (await Promise.all(shards.map((shard) => shard.rowsOf([spec], [id])))).flat()
    const stamps = rows.flat().flatMap((row) => (row.version <= version ? [row.version] : []))
    // There is one row for each state, the last of which has the greatest stamp.
    const before = Math.max(...stamps)
    for (const [i, table] of tables.entries())
      await table.remove((rows[i] ?? []).map(({ key, entityId }) => ({ key, entityId, before })))
  }
  return {
    ...entities,
    async replace(rows, options) {
      const won = await entities.replace(rows, options)
      for (const [i, row] of rows.entries()) if (won[i]) await removeLost(row)
      return won
    },
  }
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
