import { isBytes, type IndexDefinitionData, type Key, type KeyValue, type Router } from '@looseleaf/core'
import { openIndex, type OpenIndex } from './open-index.ts'

/** The shard of an index row. Decided by the row alone, so that it is the same for a writer and a cleaner. */
export function shardOfRow(
  definition: IndexDefinitionData,
  router: Router,
  key: Key,
  entityId: Uint8Array,
): number {
  const index = openIndex(definition)
  const { shardColumn } = index
  return shardColumn === undefined
    ? router.shardOfId(entityId)
    : shardOfColumn(index, router, shardColumn, key)
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
  const index = openIndex(definition)
  const { shardColumn } = index
  if (shardColumn !== undefined && shardColumn < prefix.length) {
    return [shardOfColumn(index, router, shardColumn, prefix)]
  }
  return Array.from({ length: router.shardCount }, (_, shard) => shard)
}

function shardOfColumn(index: OpenIndex, router: Router, column: number, key: Key): number {
  const value = key[column] as KeyValue
  if (index.types[column] !== 'uuid') return router.shardOfKey(stableBytes(value))
  return router.shardOfId(value as Uint8Array)
}

/** Bytes that stand for a value for ever: rows are where these say, so this never changes. */
function stableBytes(value: KeyValue): Uint8Array {
  if (isBytes(value)) return value
  const bytes = Buffer.alloc(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else bytes.writeDoubleBE(value)
  return bytes
}
