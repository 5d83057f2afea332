import {
  MAX_VERSION,
  type EntityScan,
  type IndexScan,
  type IndexTableSpec,
  type KeyRange,
} from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import { hasEpoch } from '../database/epoch-fence.ts'
import type { Flavor } from '../database/flavor.ts'
import { columnNames, INCLUDED } from '../schema/schema.ts'
import { and, or, parameter, parameterRows, parameterList } from '../database/sql-parts.ts'
import { indexScans, rangeCondition, type ParameterizedSql } from './index-scan.ts'
import { joinedScans } from './joined-scans.ts'

/** The statements of one index table. Each docstring lists the parameters in their order. */
export interface IndexStatements {
  /**
   * Parameters: key, entity id and version of each row, and its included bytes in a `covering` table. The parameters of
   * `ownSession` stand before the first version.
   */
  upsert(count: number): RawBuilder<unknown>
  /**
   * Deletes rows whose stamp is below a version. Parameters: key, entity id and that version of each row; the epoch of the shard if it is
   * fenced.
   */
  remove(count: number, isFenced: boolean): RawBuilder<unknown>
  /** See `removeOfWinners` of a flavor. */
  removeOfWinners(count: number): RawBuilder<unknown>
  /** Parameters: the stamp, the entity id. */
  repairStamps(): RawBuilder<unknown>
  scan(scan: IndexScan): ParameterizedSql
  /** Selects entities too, see `joinedRows`. */
  scanEntities(scan: EntityScan): ParameterizedSql
  /** Selects versions of entities too. */
  scanVersions(scan: IndexScan): ParameterizedSql
  count(range: KeyRange): ParameterizedSql
  /** Counts the entities of a range with fewer than `tooMany` rows. Its only row has NULL for another. Reads no more than `limit` rows. */
  countShort(range: KeyRange, tooMany: number, limit?: number): ParameterizedSql
}

export function indexStatements(spec: IndexTableSpec, flavor: Flavor, entityTable: string): IndexStatements {
  const table = sql.table(spec.table)
  const key = [...columnNames(spec), 'entity_id']
  const refs = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.ref(name)))
  const version = sql.ref('version')
  const stored = (name: string): RawBuilder<unknown> => sql.ref(`${spec.table}.${name}`)

  /** One row with a stamp below a version. */
  const rowBelow = and([
    ...key.map((name) => sql`${sql.ref(name)} = ${parameter}`),
    sql`${version} < ${parameter}`,
  ])

  return {
    upsert(count) {
      const all = [...key, 'version', ...(spec.covering ? [INCLUDED] : [])]
      // In another session the number of this prepared upsert may belong to one for another table.
      const stamp = flavor.ownSession.only(flavor.integer(parameter))
      const first = sql`(${parameterList(key.length)}, ${stamp}${spec.covering ? sql`, ${parameter}` : sql``})`
      const rows = [first, ...(count > 1 ? [parameterRows(count - 1, all.length)] : [])]
      return sql`
        INSERT INTO ${table} (${refs(all)}) VALUES ${sql.join(rows)}
        ${flavor.onDuplicate(key)}
        ${sql.join([
          // `included` stands before `version`: MySQL assigns columns one after the other, and this one compares the stored version.
          ...(spec.covering
            ? [
                sql`${sql.ref(INCLUDED)} = CASE WHEN ${flavor.incoming('version')} >= ${stored('version')}
                  THEN ${flavor.incoming(INCLUDED)} ELSE ${stored(INCLUDED)} END`,
              ]
            : []),
          sql`version = ${sql.raw(flavor.greatest)}(${stored('version')}, ${flavor.incoming('version')})`,
        ])}`
    },

    remove: (count, isFenced) => {
      const rows = or(Array.from({ length: count }, () => sql`(${rowBelow})`))
      const condition = isFenced ? sql`(${rows}) AND ${hasEpoch(flavor)}` : rows
      return sql`
        DELETE ${flavor.deleteSource(table, 'PRIMARY')} WHERE ${condition}`
    },

    // The version alone does not name a write: two processes may choose the same one, and one of the two loses.
    removeOfWinners: (count) => flavor.removeOfWinners({ table: spec.table, key, entityTable }, count),

    repairStamps: () => sql`
      UPDATE ${table} SET version = ${parameter} WHERE entity_id = ${parameter} AND version > ${sql.lit(MAX_VERSION)}`,

    scan: indexScans(spec, flavor),

    ...joinedScans(spec, flavor, entityTable),

    count(range) {
      const inRange = rangeCondition(key, range)
      return {
        shape: `count ${inRange.shape}`,
        build: () => sql`
          SELECT COUNT(DISTINCT entity_id) AS entities FROM ${table} WHERE ${inRange.build()}`,
        parameters: inRange.parameters,
      }
    },

    countShort(range, tooMany, limit = tooMany) {
      const inRange = rangeCondition(key, range)
      // A LIMIT of its own bounds the work of the server, which would count the whole range otherwise.
      const select = (column?: RawBuilder<unknown>): RawBuilder<unknown> => sql`
        SELECT ${column === undefined ? sql`` : sql`${column}, `}CASE WHEN COUNT(*) < ${sql.lit(tooMany)} THEN COUNT(DISTINCT entity_id) END AS entities
        FROM (SELECT entity_id FROM ${flavor.selectSource(table, 'PRIMARY')} WHERE ${inRange.build()} LIMIT ${parameter}) AS few`
      return {
        shape: `countShort ${tooMany} ${inRange.shape}`,
        build: () => select(),
        buildPart: (column) => select(column),
        parameters: [...inRange.parameters, limit],
      }
    },
  }
}
