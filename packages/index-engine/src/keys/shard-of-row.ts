import type { IndexDefinitionData, Router } from '@looseleaf/core'
import { isBytes, type Key, type KeyValue } from '@looseleaf/core/internal'
import { openIndex, type OpenIndex } from './open-index.ts'

/** Returns the shard of an index row. It depends on the row alone, so writers and cleaners agree on it. */
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

/** Returns the shards that may have rows with this prefix: one shard if the prefix contains `shardOn`, otherwise all shards. */
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

/** Returns the bytes that decide the shard of a value. Stored rows depend on them, so they must never change. */
function stableBytes(value: KeyValue): Uint8Array {
  if (isBytes(value)) return value
  const bytes = Buffer.alloc(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else bytes.writeDoubleBE(value)
  return bytes
}
