import type { IndexTableSpec } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { CODEC_TABLE, META_TABLE, PENDING_TABLE, TASK_TABLE } from '../database/table-names.ts'

/** Column of the catalog row with the floor: every later write has a time at or above it. */
export const FLOOR_COLUMN = 'floor'

/** Columns of the catalog row with the bounds of the purge: tombstones below both may be gone. */
export const PURGED_UPDATED_COLUMN = 'purged_updated'
export const PURGED_VERSION_COLUMN = 'purged_version'

/** Column of a covering index with the properties that its rows include beside their key. */
export const INCLUDED = 'included'

/** Returns the statements that create the entity, catalog, task, pending and codec tables where they are missing. */
export function tableStatements(entityTable: string, flavor: Flavor): readonly RawBuilder<unknown>[] {
  const { types } = flavor
  const [updatedKey, keyStatements] = secondaryKey(entityTable, 'updated', flavor)
  return [
    createTable(entityTable, flavor.tableOptions.numbered, [
      column('added_id', types.addedId),
      column('id', types.id, 'NOT NULL UNIQUE'),
      column('updated', types.updated, 'NOT NULL'),
      column('version', types.integer, 'NOT NULL'),
      column('body', types.body),
      ...updatedKey,
    ]),
    ...keyStatements,
    createTable(META_TABLE, flavor.tableOptions.keyed, [
      column('id', types.integer, 'NOT NULL PRIMARY KEY'),
      column('epoch', types.integer, 'NOT NULL'),
      column('catalog', types.text, 'NOT NULL'),
      column(FLOOR_COLUMN, types.floor),
      column(PURGED_UPDATED_COLUMN, types.integer, 'NOT NULL DEFAULT 0'),
      column(PURGED_VERSION_COLUMN, types.integer, 'NOT NULL DEFAULT 0'),
    ]),
    createTable(TASK_TABLE, flavor.tableOptions.keyed, [
      column('name', types.name, 'NOT NULL PRIMARY KEY'),
      column('progress', types.text, 'NOT NULL'),
      column('owner', types.name),
      column('lease_until', types.integer, 'NOT NULL'),
    ]),
    createTable(PENDING_TABLE, flavor.tableOptions.keyed, [
      column('entity_id', types.id, 'NOT NULL'),
      column('index_table', types.name, 'NOT NULL'),
      column('version', types.integer, 'NOT NULL'),
      sql`PRIMARY KEY (entity_id, index_table)`,
    ]),
    createTable(CODEC_TABLE, flavor.tableOptions.keyed, [
      column('id', types.name, 'NOT NULL PRIMARY KEY'),
      column('kind', types.name, 'NOT NULL'),
      column('bytes', types.body, 'NOT NULL'),
      column('added', types.integer, 'NOT NULL'),
    ]),
  ]
}

export function primaryKey(spec: IndexTableSpec): readonly string[] {
  return spec.unique ? columnNames(spec) : [...columnNames(spec), 'entity_id']
}

/** Returns the columns of the primary key with their directions. A server that ignores `DESC` reads the range and sorts it. */
function keyParts(spec: IndexTableSpec): RawBuilder<unknown> {
  return sql.join(
    primaryKey(spec).map((name, i) =>
      spec.columns[i]?.order === 'desc' ? sql`${sql.ref(name)} DESC` : sql.ref(name),
    ),
  )
}

/** Returns the statements that create an index table where it is missing. */
export function indexTableStatements(spec: IndexTableSpec, flavor: Flavor): readonly RawBuilder<unknown>[] {
  const names = columnNames(spec)
  const [entityKey, keyStatements] = secondaryKey(spec.table, 'entity_id', flavor)
  return [
    createTable(spec.table, flavor.tableOptions.keyed, [
      ...spec.columns.map(({ type }, i) =>
        column(names[i] as string, flavor.types.columns[type], 'NOT NULL'),
      ),
      column('entity_id', flavor.types.id, 'NOT NULL'),
      column('version', flavor.types.integer, 'NOT NULL'),
      ...(spec.covering ? [column(INCLUDED, flavor.types.body)] : []),
      sql`PRIMARY KEY (${keyParts(spec)})`,
      ...entityKey,
    ]),
    ...keyStatements,
  ]
}

/**
 * Returns the names of the columns that hold an index's properties, in their order: the property's name where every database
 * accepts it as a column, else `property_<place>`. The table on disk has these names, so one spec must always get the same ones.
 */
export function columnNames(spec: IndexTableSpec): readonly string[] {
  const taken = new Set(['entity_id', 'version', ...(spec.covering ? [INCLUDED] : [])])
  return spec.columns.map(({ name }, i) => {
    const plain = /^[a-z][a-z0-9_]{0,59}$/i.test(name) && !/^property_\d+$/i.test(name)
    const free = plain && !taken.has(name.toLowerCase())
    const chosen = free ? name : `property_${i}`
    taken.add(chosen.toLowerCase())
    return chosen
  })
}

function column(name: string, type: string, rest = ''): RawBuilder<unknown> {
  return sql`${sql.ref(name)} ${sql.raw(`${type} ${rest}`.trim())}`
}

function createTable(
  name: string,
  options: string,
  lines: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  return sql`CREATE TABLE IF NOT EXISTS ${sql.table(name)} (\n  ${sql.join(lines, sql`,\n  `)}\n)${sql.raw(options === '' ? '' : ` ${options}`)}`
}

/** Returns a key as a line of `CREATE TABLE`, or as a statement where the database has no such line. */
function secondaryKey(
  table: string,
  name: string,
  flavor: Flavor,
): [lines: RawBuilder<unknown>[], statements: RawBuilder<unknown>[]] {
  if (flavor.inlineKeys) return [[sql`KEY (${sql.ref(name)})`], []]
  const key = sql.ref(`${table}_${name}`)
  return [[], [sql`CREATE INDEX IF NOT EXISTS ${key} ON ${sql.table(table)} (${sql.ref(name)})`]]
}
