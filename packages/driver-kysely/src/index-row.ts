import type { ColumnType, IndexRow, IndexTableSpec, KeyValue } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { toBigInt, toNumber } from './row-values.ts'
import { columnNames, INCLUDED } from './schema.ts'
import type { Row } from './session.ts'

/** What a column's value is turned into before a port gives it away. */
const keyValues: Readonly<Record<ColumnType, (value: unknown) => KeyValue>> = {
  uuid: (value) => value as Uint8Array,
  string: (value) => value as Uint8Array,
  integer: toBigInt,
  number: toNumber,
  boolean: toBigInt,
  time: toBigInt,
}

/** Reads rows whose key stands in columns of these types and names, beside `entity_id` and `version`. */
export function indexRowReader(
  types: readonly ColumnType[],
  names: readonly string[],
): (row: Row) => IndexRow {
  const readers = types.map((type) => keyValues[type])
  // In a table that includes nothing a property may have this name.
  const isOfKey = names.includes(INCLUDED)
  return (row) => ({
    key: names.map((name, i) => (readers[i] as (value: unknown) => KeyValue)(row[name])),
    entityId: row.entity_id as Uint8Array,
    version: toNumber(row.version),
    ...(row[INCLUDED] !== undefined && !isOfKey && { included: row[INCLUDED] as Uint8Array | null }),
  })
}

/** The key, each column under its own name, and the entity id, as a SELECT of one table gives them. */
export function selectedColumns(flavor: Flavor, spec: IndexTableSpec): RawBuilder<unknown> {
  const names = columnNames(spec)
  return sql.join([
    ...spec.columns.map(({ type }, i) => {
      const name = names[i] as string
      return selectedColumn(flavor, spec, name, type, name)
    }),
    sql.ref('entity_id'),
  ])
}

/** A column of the key as a SELECT gives it, under a name. */
export function selectedColumn(
  flavor: Flavor,
  { table }: IndexTableSpec,
  column: string,
  type: ColumnType,
  as: string,
): RawBuilder<unknown> {
  const own = sql.ref(`${table}.${column}`)
  return sql`${type === 'number' ? flavor.numberOf(own) : own} AS ${sql.ref(as)}`
}
