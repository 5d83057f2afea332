import {
  arrayOf,
  type ColumnType,
  type IndexRow,
  type IndexTableSpec,
  type Key,
  type KeyValue,
} from '@looseleaf/core'
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

/** Reads a row; `prefix`: the first values of its key, which were not selected. */
export type IndexRowReader = (row: Row, prefix?: Key) => IndexRow

/** Reads rows whose key stands in columns of these types and names, beside `entity_id` and `version`. */
export function indexRowReader(types: readonly ColumnType[], names: readonly string[]): IndexRowReader {
  const readers = types.map((type) => keyValues[type])
  // In a table that includes nothing a property may have this name.
  const isOfKey = names.includes(INCLUDED)
  return (row, prefix = []) => {
    const key = arrayOf<KeyValue>(names.length)
    for (let i = 0; i < names.length; i++)
      key[i] = i < prefix.length ? prefix[i]! : readers[i]!(row[names[i]!])
    const entityId = row.entity_id as Uint8Array
    const version = toNumber(row.version)
    const included = isOfKey ? undefined : row[INCLUDED]
    if (included === undefined) return { key, entityId, version }
    return { key, entityId, version, included: included as Uint8Array | null }
  }
}

/** Values of the leading columns as rows would have them. */
export function readPrefix({ columns }: IndexTableSpec, prefix: Key): Key {
  return prefix.map((value, i) => keyValues[columns[i]!.type](value))
}

/** The key from a column on, each column under its own name, and the entity id, as a SELECT of one table gives them. */
export function selectedColumns(flavor: Flavor, spec: IndexTableSpec, from = 0): RawBuilder<unknown> {
  const names = columnNames(spec)
  return sql.join([
    ...spec.columns.slice(from).map(({ type }, i) => {
      const name = names[from + i]!
      return type === 'number' ? selectedColumn(flavor, spec, name, type, name) : sql.ref(name)
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
