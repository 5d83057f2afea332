import type { IndexDefinitionData } from '@looseleaf/core'
import type { ColumnType, IndexedProperty, IndexTableSpec } from '@looseleaf/core/internal'
import { columnName } from './column-name.ts'
import { requireKey } from './key-functions.ts'

/** Returns the columns of an index's key, as its tables have them. */
export function keyColumns({
  properties,
}: Pick<IndexDefinitionData, 'properties'>): IndexTableSpec['columns'] {
  return properties.flatMap((property) => {
    const { name, nulls, order } = property
    const valueColumn = { name: columnName(name), type: keyTypeOf(property), ...(order && { order }) }
    return nulls === undefined
      ? [valueColumn]
      : [{ name: columnName(`${name}${MARKS[nulls]}`), type: 'boolean' as const }, valueColumn]
  })
}

/** Suffix of the column that marks whether a value is present. Its 0 sorts before its 1, whatever the direction of the values. */
const MARKS = { first: '_is_there', last: '_is_null' } as const

function keyTypeOf({ type, key }: IndexedProperty): ColumnType {
  return key === undefined ? type : requireKey(key).to
}
