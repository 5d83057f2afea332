import { parameter, sumOf, type LosingTables } from '@looseleaf/driver-kysely/internal'
import { sql, type RawBuilder } from 'kysely'
import { checksumOf } from './checksum-of.ts'

/**
 * Builds the delete of rows whose entities were written. A derived table of the rows drives the join, so each row is found by its key, and each
 * entity by its id. With a sub-select for each row in place of the join, a server took four times as long for the delete of 200 rows.
 */
export function removeOfWinners(
  { table, key, entityTable }: LosingTables,
  count: number,
): RawBuilder<unknown> {
  const named = [...key.map((_, place) => `k${place}`), 'version', 'body_sum']
  const row = (names: boolean): RawBuilder<unknown> =>
    sql`SELECT ${sql.join(named.map((name) => (names ? sql`${parameter} AS ${sql.ref(name)}` : parameter)))}`
  const rows = Array.from({ length: count }, (_, place) => row(place === 0))
  const isRow = key.map((name, place) => sql`x.${sql.ref(name)} = n.${sql.ref(`k${place}`)}`)
  return sql`
    DELETE x FROM (${sql.join(rows, sql` UNION ALL `)}) n
    STRAIGHT_JOIN ${sql.table(table)} x FORCE INDEX (PRIMARY) ON ${sql.join(isRow, sql` AND `)} AND x.version < n.version
    STRAIGHT_JOIN ${sql.table(entityTable)} e FORCE INDEX (id) ON e.id = n.${sql.ref(`k${key.length - 1}`)}
      AND e.version = n.version AND ${sumOf({ checksumOf }, sql.ref('e.body'))} = n.body_sum`
}
