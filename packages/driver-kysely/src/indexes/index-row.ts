import {
  arrayOf,
  type ColumnType,
  type IndexRow,
  type IndexTableSpec,
  type Key,
  type KeyValue,
} from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toBigInt, toNumber } from '../database/row-values.ts'
import { columnNames, INCLUDED, type KeyColumns } from '../schema/schema.ts'
import type { Row } from '../database/session.ts'

/** Conversions from a column's value to the port's, by the column's type. */
const keyValues: Readonly<Record<ColumnType, (value: unknown) => KeyValue>> = {
  uuid: (value) => value as Uint8Array,
  string: (value) => value as Uint8Array,
  integer: toBigInt,
  number: toNumber,
  boolean: toBigInt,
  time: toBigInt,
}

/** Reads a row. `prefix` has the first values of its key, which the statement did not select. */
export type IndexRowReader = (row: Row, prefix?: Key) => IndexRow

/** Creates a reader of rows with these key columns, `entity_id` and `version`. */
export function indexRowReader(spec: KeyColumns): IndexRowReader {
  const names = columnNames(spec)
  const readers = spec.columns.map(({ type }) => keyValues[type])
  // In a table that is not covering, a property may have this name.
  const isKeyColumn = names.includes(INCLUDED)
  return (row, prefix = []) => {
    const key = arrayOf<KeyValue>(names.length)
    for (let i = 0; i < names.length; i++)
      key[i] = i < prefix.length ? prefix[i]! : readers[i]!(row[names[i]!])
    const entityId = row.entity_id as Uint8Array
    const version = toNumber(row.version)
    const included = isKeyColumn ? undefined : row[INCLUDED]
    if (included === undefined) return { key, entityId, version }
    return { key, entityId, version, included: included as Uint8Array | null }
  }
}

/** Converts values of the leading columns to those that a row would have. */
export function readPrefix({ columns }: IndexTableSpec, prefix: Key): Key {
  return prefix.map((value, i) => keyValues[columns[i]!.type](value))
}

/** Selects the key columns from number `from` on, each under its name, and the entity id. */
export function selectedColumns(
  flavor: Flavor,
  spec: IndexTableSpec,
  { from = 0, alias }: { readonly from?: number; readonly alias?: string | undefined } = {},
): RawBuilder<unknown> {
  const names = columnNames(spec)
  const stored = (name: string): string => (alias === undefined ? name : `${alias}.${name}`)
  return sql.join([
    ...spec.columns.slice(from).map(({ type }, i) => {
      const name = names[from + i]!
      return type === 'number'
        ? selectedColumn(flavor, alias ?? spec.table, name, type, name)
        : sql.ref(stored(name))
    }),
    sql.ref(stored('entity_id')),
  ])
}

/** Selects a column of the key of a table, or of an alias, under the name `as`. */
export function selectedColumn(
  flavor: Flavor,
  table: string,
  column: string,
  type: ColumnType,
  as: string,
): RawBuilder<unknown> {
  const ref = sql.ref(`${table}.${column}`)
  return sql`${type === 'number' ? flavor.numberOf(ref) : ref} AS ${sql.ref(as)}`
}
