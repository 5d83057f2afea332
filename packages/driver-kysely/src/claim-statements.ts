import type { IndexTableSpec } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { selectedColumns } from './index-row.ts'
import { columnNames } from './schema.ts'
import { and, or, slot, slotRows, slots } from './sql-parts.ts'

/**
 * The statements of one table of claims. Parameters stand in the order in which they appear. Those of a transaction fail in
 * any other session: one that is in a transaction of its own would answer as if it were ours.
 */
export interface ClaimStatements {
  /** Parameters: of each row the key, entity id and version; before the first version those of `ownSession`. */
  take(count: number): RawBuilder<unknown>
  /** Parameters: keys, then those of `ownSession`. */
  read(count: number): RawBuilder<unknown>
  /** Parameters: the next entity id and version; the key, and the entity id and version that it is to have. */
  swap(): RawBuilder<unknown>
}

export function claimStatements(spec: IndexTableSpec, flavor: Flavor): ClaimStatements {
  const table = sql.table(spec.table)
  const columns = columnNames(spec)
  const refs = sql.join([...columns, 'entity_id', 'version'].map((name) => sql.ref(name)))
  const own = (name: string): RawBuilder<unknown> => sql.ref(`${spec.table}.${name}`)
  const equal = (name: string): RawBuilder<unknown> => sql`${sql.ref(name)} = ${slot}`

  const inOwnSession = flavor.ownSession.only(sql`1`)
  const first = sql`(${slots(columns.length + 1)}, ${flavor.ownSession.only(flavor.integer(slot))})`

  return {
    take: (count) => sql`
      INSERT INTO ${table} (${refs})
      VALUES ${sql.join([first, ...(count > 1 ? [slotRows(count - 1, columns.length + 2)] : [])])}
      ${flavor.onDuplicate(columns)}
      version = CASE WHEN ${own('entity_id')} = ${flavor.incoming('entity_id')}
        THEN ${sql.raw(flavor.greatest)}(${own('version')}, ${flavor.incoming('version')})
        ELSE ${own('version')} END`,

    read: (count) => sql`
      SELECT ${selectedColumns(flavor, spec)}, version FROM ${table}
      WHERE ${or(Array.from({ length: count }, () => sql`(${and(columns.map(equal))})`))} AND ${inOwnSession}`,

    swap: () => sql`
      UPDATE ${flavor.updateSource(table, 'PRIMARY')} SET entity_id = ${slot}, version = ${slot}
      WHERE ${and([...columns, 'entity_id', 'version'].map(equal))}`,
  }
}
