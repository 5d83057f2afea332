import { idKey } from '@looseleaf/core/internal'
import type { Flavor } from '@looseleaf/driver-kysely'
import type { BatchedSwap, LosingTables, SwapTable } from '@looseleaf/driver-kysely/internal'
import { parameterRows, sumOf, sumOfBody } from '@looseleaf/driver-kysely/internal'
import { sql, type RawBuilder } from 'kysely'
import { sqliteFault } from './errors.ts'
import { CHECKSUM_FUNCTION, REQUIRED_FUNCTION } from './functions.ts'

/** SQLite's clock counts milliseconds. Times of the ports are microseconds. */
const nowMicros = sql<number>`(CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000)`

function checksumOf(body: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`${sql.raw(CHECKSUM_FUNCTION)}(${body})`
}

export const sqliteFlavor: Flavor = {
  types: {
    addedId: 'INTEGER PRIMARY KEY',
    id: 'BLOB',
    updated: 'INTEGER',
    floor: 'INTEGER NOT NULL DEFAULT 0',
    integer: 'INTEGER',
    body: 'BLOB',
    text: 'TEXT',
    name: 'TEXT',
    columns: {
      uuid: 'BLOB',
      string: 'BLOB',
      integer: 'INTEGER',
      number: 'REAL',
      boolean: 'INTEGER',
      time: 'INTEGER',
    },
  },
  columnsOf: {
    statement: (table) => sql`SELECT name, type, pk FROM pragma_table_info(${sql.lit(table)})`,
    read: ({ name, type, pk }) => ({ name, type, inKey: Number(pk) > 0 }),
  },
  createLikeMissing: (table) =>
    sql`CREATE TABLE ${sql.table(table)} AS SELECT * FROM ${sql.table(`${table}_source`)}`,
  // SQLite has no statistics of tables. The greatest `added_id` is an upper bound of the rows: only purged tombstones are missing.
  sizes: (entityTable) => sql`
    SELECT ${sql.lit(entityTable)} AS name, COALESCE(MAX(added_id), 0) AS estimate, NULL AS bytes FROM ${sql.table(entityTable)}
    UNION ALL SELECT NULL, NULL, page_count * page_size FROM pragma_page_count, pragma_page_size`,
  tableOptions: { numbered: 'STRICT', keyed: 'STRICT, WITHOUT ROWID' },
  inlineKeys: false,
  now: nowMicros,
  nowMicros,
  next: (updated) => sql`${updated} + 1`,
  microsOf: (updated) => sql<number>`${updated}`,
  updatedOf: (micros) => micros,
  numberOf: (column) => column,
  checksumOf,
  greatest: 'MAX',
  // A write locks the whole file, so no other write is in flight.
  shareLock: sql``,
  exclusiveLock: sql``,
  integer: (parameter) => parameter,
  briefly: (statement) => statement,
  required: (value) => sql`${sql.raw(REQUIRED_FUNCTION)}(${value})`,
  // SQLite runs inside the process, so there is one session.
  ownSession: { only: (value) => value, parameters: [] },
  onDuplicate: (key) => sql`ON CONFLICT (${sql.join(key.map((name) => sql.ref(name)))}) DO UPDATE SET`,
  incoming: (column) => sql`excluded.${sql.ref(column)}`,
  countsChanges: false,
  updateSource: (table) => table,
  // SQLite never reads the right side of a LEFT JOIN first.
  selectSource: (table) => table,
  deleteSource: (table) => sql`FROM ${table}`,
  batchedSwap,
  removeOfWinners,
  orderedParts: false,
  // Preparing takes memory and time by the square of the parts: up to 10 MB and 0.4 s for 128 parts, 0.5 MB and 4 ms for 16.
  unionParts: 16,
  preparedParts: 0,
  rowValuesSeek: true,
  // SQLite shows a commit after it has synced the log.
  visibleIsDurable: true,
  faultOf: sqliteFault,
}

/** Creates a compare-and-swap of one statement, which returns the ids of the winners. */
function batchedSwap({ session, table, epochFence, updated }: SwapTable): BatchedSwap {
  const entities = sql.table(table)
  const sum = sumOf({ checksumOf }, sql`${entities}.body`)
  const statement = (count: number): RawBuilder<unknown> => sql`
    WITH n (id, base, base_sum, version, body) AS (VALUES ${parameterRows(count, 5)})
    UPDATE ${entities} SET version = n.version, body = n.body, updated = ${updated}
    FROM n WHERE ${entities}.id = n.id AND ${entities}.version = n.base
    AND (n.base_sum IS NULL OR ${sum} = n.base_sum) AND ${epochFence}
    RETURNING id`
  return {
    statements(rows, fenceParameters) {
      const query = session.shape(`replace ${rows.length}`, () => statement(rows.length))
      const parameters = rows.flatMap<unknown>(({ id, base, baseBody, version, body }) => [
        id,
        base,
        baseBody === undefined ? null : sumOfBody(baseBody),
        version,
        body,
      ])
      return [{ query, parameters: [...parameters, ...fenceParameters] }]
    },
    won(rows, [result]) {
      const changed = new Set(result?.rows.map(({ id }) => idKey(id as Uint8Array)))
      return rows.map(({ id }) => changed.has(idKey(id)))
    },
  }
}

/** Builds the delete of rows whose entities were written. The list finds each row by its key. */
function removeOfWinners({ table, key, entityTable }: LosingTables, count: number): RawBuilder<unknown> {
  const named = [...key, 'version', 'body_sum'].map((name) => sql.ref(name))
  const rowKey = sql.join(key.map((name) => sql.ref(name)))
  const wonKey = sql.join(key.map((name) => sql.ref(`n.${name}`)))
  const sum = sumOf({ checksumOf }, sql.ref('e.body'))
  return sql`
    WITH n (${sql.join(named)}) AS (VALUES ${parameterRows(count, named.length)})
    DELETE FROM ${sql.table(table)} WHERE (${rowKey}) IN (
      SELECT ${wonKey} FROM n JOIN ${sql.table(entityTable)} e
      ON e.id = n.entity_id AND e.version = n.version AND ${sum} = n.body_sum)
    AND version < (SELECT version FROM ${sql.table(entityTable)} WHERE id = entity_id)`
}
