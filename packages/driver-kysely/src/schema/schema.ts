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

/** The columns of a table, and those of its primary key. */
export interface TableShape {
  readonly name: string
  readonly columns: readonly ColumnShape[]
  readonly key: readonly string[]
}

type ColumnShape = readonly [name: string, type: string, rest?: string]

/** Returns the entity, catalog, task, pending and codec tables, in this order. */
export function shardTables(entityTable: string, { types }: Flavor): readonly TableShape[] {
  return [
    {
      name: entityTable,
      columns: [
        ['added_id', types.addedId],
        ['id', types.id, 'NOT NULL UNIQUE'],
        ['updated', types.updated, 'NOT NULL'],
        ['version', types.integer, 'NOT NULL'],
        ['body', types.body],
      ],
      key: ['added_id'],
    },
    {
      name: META_TABLE,
      columns: [
        ['id', types.integer, 'NOT NULL PRIMARY KEY'],
        ['epoch', types.integer, 'NOT NULL'],
        ['catalog', types.text, 'NOT NULL'],
        [FLOOR_COLUMN, types.floor],
        [PURGED_UPDATED_COLUMN, types.integer, 'NOT NULL DEFAULT 0'],
        [PURGED_VERSION_COLUMN, types.integer, 'NOT NULL DEFAULT 0'],
      ],
      key: ['id'],
    },
    {
      name: TASK_TABLE,
      columns: [
        ['name', types.name, 'NOT NULL PRIMARY KEY'],
        ['progress', types.text, 'NOT NULL'],
        ['owner', types.name],
        ['lease_until', types.integer, 'NOT NULL'],
      ],
      key: ['name'],
    },
    {
      name: PENDING_TABLE,
      columns: [
        ['entity_id', types.id, 'NOT NULL'],
        ['index_table', types.name, 'NOT NULL'],
        ['version', types.integer, 'NOT NULL'],
      ],
      key: ['entity_id', 'index_table'],
    },
    {
      name: CODEC_TABLE,
      columns: [
        ['id', types.name, 'NOT NULL PRIMARY KEY'],
        ['kind', types.name, 'NOT NULL'],
        ['bytes', types.body, 'NOT NULL'],
        ['added', types.integer, 'NOT NULL'],
      ],
      key: ['id'],
    },
  ]
}

export function indexTable(spec: IndexTableSpec, { types }: Flavor): TableShape {
  const names = columnNames(spec)
  return {
    name: spec.table,
    columns: [
      ...spec.columns.map(({ type }, i): ColumnShape => [
        names[i] as string,
        types.columns[type],
        'NOT NULL',
      ]),
      ['entity_id', types.id, 'NOT NULL'],
      ['version', types.integer, 'NOT NULL'],
      ...(spec.covering ? [[INCLUDED, types.body] as const] : []),
    ],
    key: primaryKey(spec),
  }
}

/** Returns the statements that create the entity, catalog, task, pending and codec tables where they are missing. */
export function tableStatements(entityTable: string, flavor: Flavor): readonly RawBuilder<unknown>[] {
  const { tableOptions } = flavor
  const [updatedKey, keyStatements] = secondaryKey(entityTable, 'updated', flavor)
  return shardTables(entityTable, flavor).flatMap((shape) => {
    const { name, key } = shape
    if (name === entityTable) return [createTable(shape, tableOptions.numbered, updatedKey), ...keyStatements]
    const keyLines = key.length > 1 ? [sql`PRIMARY KEY (${sql.join(key.map((each) => sql.ref(each)))})`] : []
    return [createTable(shape, tableOptions.keyed, keyLines)]
  })
}

function primaryKey(spec: IndexTableSpec): readonly string[] {
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
  const [entityKey, keyStatements] = secondaryKey(spec.table, 'entity_id', flavor)
  const keyLines = [sql`PRIMARY KEY (${keyParts(spec)})`, ...entityKey]
  return [createTable(indexTable(spec, flavor), flavor.tableOptions.keyed, keyLines), ...keyStatements]
}

export type KeyColumns = Pick<IndexTableSpec, 'columns' | 'covering'>

/**
 * Returns the names of the columns that hold an index's properties, in their order: the property's name where every database
 * accepts it as a column, else `property_<place>`. The table on disk has these names, so one spec must always get the same ones.
 */
export function columnNames(spec: KeyColumns): readonly string[] {
  const taken = new Set(['entity_id', 'version', ...(spec.covering ? [INCLUDED] : [])])
  return spec.columns.map(({ name }, i) => {
    const plain = /^[a-z][a-z0-9_]{0,59}$/i.test(name) && !/^property_\d+$/i.test(name)
    const free = plain && !taken.has(name.toLowerCase())
    const chosen = free ? name : `property_${i}`
    taken.add(chosen.toLowerCase())
    return chosen
  })
}

function createTable(
  { name, columns }: TableShape,
  options: string,
  keyLines: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  const columnLines = columns.map(
    ([column, type, rest = '']) => sql`${sql.ref(column)} ${sql.raw(`${type} ${rest}`.trim())}`,
  )
  const lines = sql.join([...columnLines, ...keyLines], sql`,\n  `)
  return sql`CREATE TABLE IF NOT EXISTS ${sql.table(name)} (\n  ${lines}\n)${sql.raw(options === '' ? '' : ` ${options}`)}`
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
