import type { IndexDefinitionData, Key, KeyValue, Router } from '@looseleaf/core'

/** The shard of an index row. Decided by the row alone, so that it is the same for a writer and a cleaner. */
export function shardOfRow(
  definition: IndexDefinitionData,
  router: Router,
  key: Key,
  entityId: Uint8Array,
): number {
  const column = shardColumn(definition)
  return column === -1 ? router.shardOfId(entityId) : shardOfColumn(definition, router, column, key)
}

/**
 * The shards that can have rows with these leading values: one if the property that the index is kept by is among them,
 * or else all.
 */
export function shardsOfQuery(
  definition: IndexDefinitionData,
  router: Router,
  prefix: Key,
): readonly number[] {
  const column = shardColumn(definition)
  if (column !== -1 && column < prefix.length) return [shardOfColumn(definition, router, column, prefix)]
  return Array.from({ length: router.shardCount }, (_, shard) => shard)
}

function shardColumn(definition: IndexDefinitionData): number {
  return definition.properties.findIndex(({ name }) => name === definition.shardOn)
}

function shardOfColumn(definition: IndexDefinitionData, router: Router, column: number, key: Key): number {
  const value = key[column] as KeyValue
  if (definition.properties[column]?.type !== 'uuid') return router.shardOfKey(stableBytes(value))
  return router.shardOfId(value as Uint8Array)
}

/** Bytes that stand for a value for ever: rows are where these say, so this never changes. */
function stableBytes(value: KeyValue): Uint8Array {
  if (value instanceof Uint8Array) return value
  const bytes = Buffer.alloc(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else bytes.writeDoubleBE(value)
  return bytes
}
