import type { PendingRow, PendingTable } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import { hasEpoch, refuseStaleEpoch, staleEpoch } from '../database/epoch-fence.ts'
import type { Flavor } from '../database/flavor.ts'
import { toCount, toNumber, toText } from '../database/row-values.ts'
import { META_TABLE, PENDING_TABLE } from '../database/table-names.ts'
import { callsWith, type BoundStatement, type FaultCodes, type Session } from '../database/session.ts'
import { and, checkWriteRows, or, parameter, parameterRows, parameterList } from '../database/sql-parts.ts'

const table = sql.table(PENDING_TABLE)

const faults: FaultCodes = {
  'no-table': ['NOT_MIGRATED', 'the pending table is missing; create the tables first.'],
  'fence-refused': staleEpoch,
}

const { reading, writing } = callsWith(faults)

/**
 * Returns the upsert of pending rows, of which an existing one keeps the greater version. Without an epoch, the rows are fenced by the
 * transaction of their entities.
 */
export function pendingUpsert(
  session: Session,
  flavor: Flavor,
  rows: readonly PendingRow[],
  epoch?: number,
): BoundStatement {
  checkWriteRows(PENDING_TABLE, rows.length)
  const isFenced = epoch !== undefined
  const fence = isFenced ? [epoch] : []
  return {
    query: session.shape(`pending upsert ${rows.length} ${isFenced}`, () =>
      upsert(flavor, rows.length, isFenced),
    ),
    parameters: sortedByKey(rows).flatMap(({ entityId, table: index, version }, i) =>
      i === 0
        ? [entityId, index, ...flavor.ownSession.parameters, version, ...fence]
        : [entityId, index, version],
    ),
    faults,
  }
}

/**
 * Parameters: the first row's entity id and index table, those of `ownSession`, its version, the epoch if it is fenced; then entity id,
 * index table and version of each other row.
 */
function upsert(flavor: Flavor, count: number, isFenced: boolean): RawBuilder<unknown> {
  const integer = flavor.integer(parameter)
  // Fenced as the insert of an entity is.
  const version = isFenced
    ? flavor.required(
        sql`(SELECT ${integer} FROM ${sql.table(META_TABLE)} WHERE id = 1 AND epoch = ${parameter} ${flavor.shareLock})`,
      )
    : integer
  // The session check keeps the statement inside its transaction, so that the rows are committed with their entities.
  const first = sql`(${parameter}, ${parameter}, ${flavor.ownSession.only(version)})`
  const otherRows = count === 1 ? sql`` : sql`, ${parameterRows(count - 1, 3)}`
  return sql`
    INSERT INTO ${table} (entity_id, index_table, version) VALUES ${first}${otherRows}
    ${flavor.onDuplicate(['entity_id', 'index_table'])}
    version = ${sql.raw(flavor.greatest)}(${sql.ref(`${PENDING_TABLE}.version`)}, ${flavor.incoming('version')})`
}

/** Sorts rows by the table's key. Statements that lock rows in the same order cannot deadlock. */
function sortedByKey(rows: readonly PendingRow[]): readonly PendingRow[] {
  return rows.toSorted(
    (a, b) =>
      Buffer.compare(a.entityId, b.entityId) || Buffer.compare(Buffer.from(a.table), Buffer.from(b.table)),
  )
}

/** Parameters: entity id twice and index table of the place, the excluded tables, the limit. */
function pageOf(withPlace: boolean, excludedTables: number): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = []
  // MariaDB reads the whole table for `(entity_id, index_table) > (?, ?)`.
  if (withPlace) {
    conditions.push(
      sql`entity_id >= ${parameter} AND (entity_id > ${parameter} OR index_table > ${parameter})`,
    )
  }
  if (excludedTables > 0) conditions.push(sql`index_table NOT IN (${parameterList(excludedTables)})`)
  return sql`
    SELECT entity_id, index_table, version FROM ${table}
    WHERE ${and(conditions)} ORDER BY entity_id, index_table LIMIT ${parameter}`
}

export function createPendingTable(session: Session, flavor: Flavor, shardName: string): PendingTable {
  return {
    async tables(options) {
      const { rows } = await session.run(
        session.shape('pending tables', () => sql`SELECT DISTINCT index_table FROM ${table}`),
        [],
        reading(options),
      )
      return rows.map((row) => toText(row.index_table))
    },

    async page({ after, except = [], limit }, options) {
      const { rows } = await session.run(
        session.shape(`pending page ${after !== undefined} ${except.length}`, () =>
          pageOf(after !== undefined, except.length),
        ),
        [...(after === undefined ? [] : [after.entityId, after.entityId, after.table]), ...except, limit],
        reading(options),
      )
      return rows.map((row) => ({
        entityId: row.entity_id as Uint8Array,
        table: toText(row.index_table),
        version: toNumber(row.version),
      }))
    },

    async add(rows, options) {
      if (rows.length === 0) return
      const { query, parameters } = pendingUpsert(session, flavor, rows, options.epoch)
      await session.run(query, parameters, writing(options))
    },

    async remove(removals, options) {
      if (removals.length === 0) return 0
      checkWriteRows(PENDING_TABLE, removals.length)
      const row = and([
        sql`${sql.ref('entity_id')} = ${parameter}`,
        sql`${sql.ref('index_table')} = ${parameter}`,
        sql`${sql.ref('version')} < ${parameter}`,
      ])
      const { epoch } = options ?? {}
      const fence = epoch === undefined ? sql`` : sql` AND ${hasEpoch(flavor)}`
      const { numAffectedRows } = await session.run(
        session.shape(
          `pending remove ${removals.length} ${epoch !== undefined}`,
          () => sql`
            DELETE ${flavor.deleteSource(table, 'PRIMARY')}
            WHERE (${or(Array.from({ length: removals.length }, () => sql`(${row})`))})${fence}`,
        ),
        [
          ...removals.flatMap((removal) => [removal.entityId, removal.table, removal.before]),
          ...(epoch === undefined ? [] : [epoch]),
        ],
        writing(options),
      )
      const removed = toCount(numAffectedRows)
      if (removed === 0 && epoch !== undefined)
        await refuseStaleEpoch(session, shardName, epoch, writing(options))
      return removed
    },
  }
}
