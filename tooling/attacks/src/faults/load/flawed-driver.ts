import type { Driver } from '@looseleaf/core'
import type { EntityReplace, EntityTable } from '@looseleaf/core/internal'
import { tableName, tableSpec } from '@looseleaf/index-engine/internal'
import { changed, type Changes } from '@looseleaf-tooling/kit/changed-driver'
import { byGroup } from '@looseleaf-tooling/simulation/by-tag-and-group'

/** Guards of the protocol that can be turned off, one at a time, to test the checkers. */
const changesOf = {
  'upsert overwrites': () => ({
    index: (table) => ({
      async upsert(rows, options) {
        await table.remove(rows.map(regardless))
        await table.upsert(rows, options)
      },
    }),
  }),
  'remove is unguarded': () => ({
    index: (table) => ({ remove: (rows, options) => table.remove(rows.map(regardless), options) }),
  }),
  'replace is unguarded': () => ({ entities: unguardedReplace }),
  'lost rows go at once': (driver) => ({ entities: (table) => hastyReplace(table, driver) }),
} satisfies Record<string, (driver: Driver) => Changes>

export type Flaw = keyof typeof changesOf

export const flaws: readonly Flaw[] = Object.keys(changesOf) as Flaw[]

/** Returns the driver with one guard turned off, to test the checkers. */
export function withFlaw(driver: Driver, flaw: Flaw): Driver {
  return changed(driver, changesOf[flaw](driver))
}

const regardless = <Row>(row: Row): Row & { before: number } => ({ ...row, before: Number.MAX_SAFE_INTEGER })

/** Deletes the row of the former state right after a commit, although a query under way may need it. */
function hastyReplace(entities: EntityTable, { shards }: Driver): Partial<EntityTable> {
  const spec = tableSpec({ ...byGroup, table: tableName(byGroup, 1) })
  async function removeLost({ id, version }: EntityReplace): Promise<void> {
    const tables = shards.map((shard) => shard.index(spec))
    const rows = (await Promise.all(shards.map((shard) => shard.rowsOf([spec], [id])))).flat()
    // A fence writes no rows, and the rows that it finds belong to the current state.
    if (!rows.flat().some((row) => row.version === version)) return
    for (const [i, table] of tables.entries())
      await table.remove((rows[i] ?? []).map(({ key, entityId }) => ({ key, entityId, before: version })))
  }
  return {
    async replace(rows, options) {
      const won = await entities.replace(rows, options)
      for (const [i, row] of rows.entries()) if (won[i]) await removeLost(row)
      return won
    },
  }
}

/** Replaces an entity of any version. */
function unguardedReplace(entities: EntityTable): Partial<EntityTable> {
  return {
    async replace(rows, options) {
      const found = await entities.readVersions(rows.map(({ id }) => id))
      return entities.replace(
        rows.map((row, i) => ({ ...row, base: found[i] ?? row.base, baseBody: undefined })),
        options,
      )
    },
  }
}
