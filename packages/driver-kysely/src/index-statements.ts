import { MAX_VERSION, type IndexScan, type IndexTableSpec, type KeyRange } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { indexScans, within, type ParameterizedSql } from './index-scan.ts'
import { columnNames, INCLUDED } from './schema.ts'
import { and, or, slot, slotRows, slots } from './sql-parts.ts'

/** The statements of one index table. Parameters stand in the order in which they appear. */
export interface IndexStatements {
  /** The names of the columns that hold the key. */
  readonly columns: readonly string[]
  /**
   * Parameters: of each row the key, entity id and version, and what it includes where the table is `covering`; before the first
   * version those of `ownSession`.
   */
  upsert(count: number): RawBuilder<unknown>
  /** Parameters: of each row the key, entity id and the version that it has to be below. */
  remove(count: number): RawBuilder<unknown>
  /** Parameters: the stamp, the entity id. */
  repairStamps(): RawBuilder<unknown>
  scan(scan: IndexScan): ParameterizedSql
  count(range: KeyRange): ParameterizedSql
}

export function indexStatements(spec: IndexTableSpec, flavor: Flavor): IndexStatements {
  const table = sql.table(spec.table)
  const columns = columnNames(spec)
  const key = [...columns, 'entity_id']
  const refs = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.ref(name)))
  const version = sql.ref('version')
  const own = (name: string): RawBuilder<unknown> => sql.ref(`${spec.table}.${name}`)

  return {
    columns,

    upsert(count) {
      const all = [...key, 'version', ...(spec.covering ? [INCLUDED] : [])]
      // A prepared one would else write to another table, where another session has that one under its number.
      const stamp = flavor.ownSession.only(flavor.integer(slot))
      const first = sql`(${slots(key.length)}, ${stamp}${spec.covering ? sql`, ${slot}` : sql``})`
      const rows = [first, ...(count > 1 ? [slotRows(count - 1, all.length)] : [])]
      return sql`
        INSERT INTO ${table} (${refs(all)}) VALUES ${sql.join(rows)}
        ${flavor.onDuplicate(key)}
        ${sql.join([
          // First, because MySQL assigns one column after the other, and this goes by the version that is there.
          ...(spec.covering
            ? [
                sql`${sql.ref(INCLUDED)} = CASE WHEN ${flavor.incoming('version')} >= ${own('version')}
                  THEN ${flavor.incoming(INCLUDED)} ELSE ${own(INCLUDED)} END`,
              ]
            : []),
          sql`version = ${sql.raw(flavor.greatest)}(${own('version')}, ${flavor.incoming('version')})`,
        ])}`
    },

    remove: (count) => {
      const row = and([...key.map((name) => sql`${sql.ref(name)} = ${slot}`), sql`${version} < ${slot}`])
      return sql`
        DELETE ${flavor.deleteSource(table, 'PRIMARY')} WHERE ${or(Array.from({ length: count }, () => sql`(${row})`))}`
    },

    repairStamps: () => sql`
      UPDATE ${table} SET version = ${slot} WHERE entity_id = ${slot} AND version > ${sql.lit(MAX_VERSION)}`,

    scan: indexScans(spec, flavor),

    count(range) {
      const inRange = within(key, range)
      return {
        shape: `count ${inRange.shape}`,
        build: () => sql`
          SELECT COUNT(DISTINCT entity_id) AS entities FROM ${table} WHERE ${inRange.build()}`,
        parameters: inRange.parameters,
      }
    },
  }
}
