import type { IndexRow, IndexTableSpec } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { selectedColumns } from '../indexes/index-row.ts'
import { columnNames } from '../schema/schema.ts'
import { and, or, parameter, parameterRows, parameterList } from '../database/sql-parts.ts'

/**
 * The statements of one table of claims. Each docstring lists the parameters in their order. `take` and `read` check their
 * session: another session with an open transaction would accept them, and undo them later.
 */
export interface ClaimStatements {
  /** Parameters: key, entity id and version of each row. The parameters of `ownSession` stand before the first version. */
  take(count: number): RawBuilder<unknown>
  /** As `take`, and fails with `fence-refused` if another entity has a key. Parameters: those of `take`. */
  takeOrFail(count: number): RawBuilder<unknown>
  /** Parameters: keys, then those of `ownSession`. */
  read(count: number): RawBuilder<unknown>
  /** Parameters: the new entity id and version, the key, the expected entity id and version. */
  swap(): RawBuilder<unknown>
  /**
   * Gives a claim of any stamp to another entity, and never lowers the stamp. Parameters: the new entity id and version, the key, the
   * expected entity id, those of `ownSession`.
   */
  handOver(): RawBuilder<unknown>
}

/** Returns the parameters of `take` and `takeOrFail`. */
export function takeParameters(
  rows: readonly IndexRow[],
  sessionParameters: readonly unknown[],
): readonly unknown[] {
  return rows.flatMap(({ key, entityId, version }, i) =>
    i === 0 ? [...key, entityId, ...sessionParameters, version] : [...key, entityId, version],
  )
}

export function claimStatements(spec: IndexTableSpec, flavor: Flavor): ClaimStatements {
  const table = sql.table(spec.table)
  const columns = columnNames(spec)
  const refs = sql.join([...columns, 'entity_id', 'version'].map((name) => sql.ref(name)))
  const stored = (name: string): RawBuilder<unknown> => sql.ref(`${spec.table}.${name}`)
  const equal = (name: string): RawBuilder<unknown> => sql`${sql.ref(name)} = ${parameter}`

  const sessionCheck = flavor.ownSession.only(sql`1`)
  const first = sql`(${parameterList(columns.length + 1)}, ${flavor.ownSession.only(flavor.integer(parameter))})`

  /** `held`: the stamp of a claim that another entity has. */
  const take = (
    count: number,
    held: RawBuilder<unknown>,
    check: (stamp: RawBuilder<unknown>) => RawBuilder<unknown>,
  ): RawBuilder<unknown> => {
    const otherRows = count > 1 ? [parameterRows(count - 1, columns.length + 2)] : []
    const stamp = sql`CASE WHEN ${stored('entity_id')} = ${flavor.incoming('entity_id')}
      THEN ${sql.raw(flavor.greatest)}(${stored('version')}, ${flavor.incoming('version')}) ELSE ${held} END`
    return sql`
      INSERT INTO ${table} (${refs}) VALUES ${sql.join([first, ...otherRows])}
      ${flavor.onDuplicate(columns)} version = ${check(stamp)}`
  }

  return {
    take: (count) => take(count, stored('version'), (stamp) => stamp),

    takeOrFail: (count) => take(count, sql`NULL`, flavor.required),

    read: (count) => sql`
      SELECT ${selectedColumns(flavor, spec)}, version FROM ${table}
      WHERE ${or(Array.from({ length: count }, () => sql`(${and(columns.map(equal))})`))} AND ${sessionCheck}`,

    swap: () => sql`
      UPDATE ${flavor.updateSource(table, 'PRIMARY')} SET entity_id = ${parameter}, version = ${parameter}
      WHERE ${and([...columns, 'entity_id', 'version'].map(equal))}`,

    handOver: () => sql`
      UPDATE ${flavor.updateSource(table, 'PRIMARY')}
      SET entity_id = ${parameter}, version = ${sql.raw(flavor.greatest)}(version, ${parameter})
      WHERE ${and([...columns, 'entity_id'].map(equal))} AND ${sessionCheck}`,
  }
}
