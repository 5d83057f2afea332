import type { Bag, IndexDefinitionData, PropertyValue } from '@looseleaf/core'
import type { IndexedProperty } from '@looseleaf/core/internal'
import { deriveRows, fromKeyValue, tableSpec } from '@looseleaf/index-engine/internal'

export interface IndexColumn {
  readonly name: string
  /** Property of entities that the column shows whole; undefined for a key of a property with another name. */
  readonly shows: string | undefined
  /** Undefined for an entity without the property. */
  valueOf(entity: Bag): PropertyValue | undefined
}

/** Returns one column for each distinct property of these indexes. */
export function indexColumns(indexes: readonly IndexDefinitionData[]): readonly IndexColumn[] {
  const columns = new Map<string, IndexColumn>()
  for (const index of indexes) {
    for (const property of index.properties) {
      const { name, of, key } = property
      columns.set(JSON.stringify([name, of, of && key]), columnOf(index, property))
    }
  }
  return [...columns.values()]
}

function columnOf(index: IndexDefinitionData, property: IndexedProperty): IndexColumn {
  const { name, of } = property
  const keyOf = keyReader(index, property)
  return {
    name,
    shows: of === undefined ? name : undefined,
    valueOf: (entity) => (of === undefined && Object.hasOwn(entity, name) ? entity[name] : keyOf(entity)),
  }
}

/** Returns a function that reads the key of a property, as the index has it; a list for an array. */
function keyReader(
  index: IndexDefinitionData,
  property: IndexedProperty,
): (entity: Bag) => PropertyValue | undefined {
  // Alone, without `nulls` and `on`: a row for each value, and none for an entity without a value.
  const alone = { name: index.name, properties: [{ ...property, nulls: undefined }], shardOn: 'id' } as const
  const definition = { ...alone, onMisfit: 'skip' } as const
  const [column] = tableSpec({ ...definition, table: '' }).columns
  return (entity) => {
    const values = deriveRows(definition, entity).keys.map(([value]) =>
      column === undefined || value === undefined
        ? null
        : // A row has no long text whole.
          (fromKeyValue(column.type, value) ?? '…'),
    )
    return property.many && values.length > 0 ? values : values[0]
  }
}
